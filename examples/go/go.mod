module vprep/examples/readdataset

go 1.22
