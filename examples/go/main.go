// Reads a dataset of vprep with the standard library alone: vectors, true neighbours, and a
// store's search setting.
//
//	go run . [--sha256] DATASET QIDX STORE K TARGET
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const shown = 5

// Manifest has what is read of manifest.json here; its JSON Schema has the rest.
type Manifest struct {
	Schema int
	Name   string
	Metric string
	Dim    int64
	Counts struct{ Base, Queries int64 }
	Files  []File
	Truth  *struct{ K int64 }
	Stores map[string]struct{ Cells []Cell }
}

// File is one file of the dataset.
type File struct {
	Role, Path, Sha256 string
	Bytes              int64
}

// Cell is what calibration found for one (store, k, target).
type Cell struct {
	Store             string
	K                 int
	Target            float64
	Knob              *string
	Value             *int
	Reached           bool
	CalibrationRecall *float64 `json:"calibration_recall"`
	HeldOutRecall     *float64 `json:"held_out_recall"`
	HeldOutLow        *float64 `json:"held_out_low"`
	HeldOutHigh       *float64 `json:"held_out_high"`
	HeldOutQueries    int      `json:"held_out_queries"`
}

// Matrix is an open .npy file of 4-byte values in C order.
type Matrix struct {
	file                  *os.File
	offset, rows, columns int64
}

// Row reads the 32-bit words of one row.
func (m *Matrix) Row(row int64) ([]uint32, error) {
	if row < 0 || row >= m.rows {
		return nil, fmt.Errorf("%s: there is no row %d", m.file.Name(), row)
	}
	bytes := make([]byte, m.columns*4)
	if _, err := m.file.ReadAt(bytes, m.offset+row*m.columns*4); err != nil {
		return nil, err
	}
	words := make([]uint32, m.columns)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(bytes[i*4:])
	}
	return words, nil
}

// Floats reads one row of float32.
func (m *Matrix) Floats(row int64) ([]float64, error) {
	words, err := m.Row(row)
	floats := make([]float64, len(words))
	for i, word := range words {
		floats[i] = float64(math.Float32frombits(word))
	}
	return floats, err
}

var shape = regexp.MustCompile(`'shape': \((\d+), (\d+)\)`)

// open opens the matrix of a role, (rows, columns), after everything that the manifest says of it was checked.
func (m *Manifest) open(dir, role, dtype string, rows, columns int64, digest bool) (*Matrix, error) {
	var entry *File
	for i := range m.Files {
		if m.Files[i].Role == role {
			entry = &m.Files[i]
		}
	}
	if entry == nil {
		return nil, fmt.Errorf("manifest.json: no file with the role %s", role)
	}
	if !filepath.IsLocal(filepath.FromSlash(entry.Path)) {
		return nil, fmt.Errorf("%s: not a path inside the dataset", entry.Path)
	}
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(entry.Path)))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != entry.Bytes {
		return nil, fmt.Errorf("%s: %d bytes, the manifest says %d", entry.Path, info.Size(), entry.Bytes)
	}
	if digest {
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err != nil {
			return nil, err
		}
		if found := hex.EncodeToString(hash.Sum(nil)); found != entry.Sha256 {
			return nil, fmt.Errorf("%s: sha256 %s, the manifest says %s", entry.Path, found, entry.Sha256)
		}
	}
	// An npy file: magic, version, the length of the header, the header, the values.
	start := make([]byte, 12)
	if _, err := file.ReadAt(start, 0); err != nil {
		return nil, err
	}
	offset, length := int64(10), int64(binary.LittleEndian.Uint16(start[8:]))
	if start[6] > 1 {
		offset, length = 12, int64(binary.LittleEndian.Uint32(start[8:]))
	}
	if string(start[:6]) != "\x93NUMPY" || start[6] < 1 || start[6] > 3 || length > 65536 {
		return nil, fmt.Errorf("%s: not an npy file", entry.Path)
	}
	header := make([]byte, length)
	if _, err := file.ReadAt(header, offset); err != nil {
		return nil, err
	}
	text := string(header)
	found := shape.FindStringSubmatch(text)
	if found == nil || !strings.Contains(text, "'descr': '"+dtype+"'") || !strings.Contains(text, "'fortran_order': False") {
		return nil, fmt.Errorf("%s: not a matrix of %s in C order: %s", entry.Path, dtype, strings.TrimSpace(text))
	}
	if found[1] != strconv.FormatInt(rows, 10) || found[2] != strconv.FormatInt(columns, 10) {
		return nil, fmt.Errorf("%s: shape (%s, %s), the manifest says (%d, %d)", entry.Path, found[1], found[2], rows, columns)
	}
	if offset+length+rows*columns*4 != entry.Bytes {
		return nil, fmt.Errorf("%s: %d bytes are not what its header says", entry.Path, entry.Bytes)
	}
	return &Matrix{file, offset + length, rows, columns}, nil
}

// score is larger where better, but for l2, the squared distance.
func score(metric string, a, b []float64) float64 {
	var dot, aa, bb, l2 float64
	for i := range a {
		dot, aa, bb, l2 = dot+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i], l2+(a[i]-b[i])*(a[i]-b[i])
	}
	switch norms := math.Sqrt(aa) * math.Sqrt(bb); {
	case metric == "l2":
		return l2
	case metric != "cosine":
		return dot
	case norms > 0:
		return dot / norms
	}
	return 0
}

// cell finds what calibration found for a store at (k, target).
func (m *Manifest) cell(store string, k int, target float64) (*Cell, error) {
	facts, there := m.Stores[store]
	if !there {
		return nil, fmt.Errorf("manifest.json: no store %s", store)
	}
	for i, cell := range facts.Cells {
		if cell.K == k && cell.Target == target {
			return &facts.Cells[i], nil
		}
	}
	return nil, fmt.Errorf("manifest.json: %s is not calibrated to recall %v at k = %d", store, target, k)
}

// setting says a cell in words.
func (c *Cell) setting() string {
	what := fmt.Sprintf("%s: recall %.4f at k = %d is ", c.Store, c.Target, c.K)
	knob := "no knob"
	if c.Knob != nil && c.Value != nil {
		knob = fmt.Sprintf("%s = %d", *c.Knob, *c.Value)
	} else if c.Knob != nil {
		knob = *c.Knob + " = none"
	}
	recall := func(value *float64) string {
		if value == nil {
			return "unknown"
		}
		return fmt.Sprintf("%.4f", *value)
	}
	if !c.Reached {
		return what + fmt.Sprintf("NOT REACHED; the best is %s, with %s", knob, recall(c.CalibrationRecall))
	}
	return what + fmt.Sprintf("reached with %s; %s (%s to %s) on %d held-out queries", knob,
		recall(c.HeldOutRecall), recall(c.HeldOutLow), recall(c.HeldOutHigh), c.HeldOutQueries)
}

func run(arguments []string) error {
	digest := len(arguments) > 0 && arguments[0] == "--sha256"
	if digest {
		arguments = arguments[1:]
	}
	if len(arguments) != 5 {
		return fmt.Errorf("usage: [--sha256] DATASET QIDX STORE K TARGET")
	}
	dir, store := arguments[0], arguments[2]
	qidx, err := strconv.ParseInt(arguments[1], 10, 64)
	if err != nil {
		return err
	}
	k, err := strconv.Atoi(arguments[3])
	if err != nil {
		return err
	}
	target, err := strconv.ParseFloat(arguments[4], 64)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if m.Schema != 1 || m.Truth == nil {
		return fmt.Errorf("manifest.json: schema %d, this reader knows 1; truth: %t", m.Schema, m.Truth != nil)
	}
	matrices := map[string]*Matrix{}
	for _, want := range []struct {
		role, dtype   string
		rows, columns int64
	}{
		{"base", "<f4", m.Counts.Base, m.Dim},
		{"queries", "<f4", m.Counts.Queries, m.Dim},
		{"truth_ids", "<i4", m.Counts.Queries, m.Truth.K},
		{"truth_scores", "<f4", m.Counts.Queries, m.Truth.K},
	} {
		matrices[want.role], err = m.open(dir, want.role, want.dtype, want.rows, want.columns, digest)
		if err != nil {
			return err
		}
	}
	query, err := matrices["queries"].Floats(qidx)
	if err != nil {
		return err
	}
	neighbours, err := matrices["truth_ids"].Row(qidx)
	if err != nil {
		return err
	}
	scores, err := matrices["truth_scores"].Floats(qidx)
	if err != nil {
		return err
	}
	cell, err := m.cell(store, k, target)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d x %d, %d queries, %s\n", m.Name, m.Counts.Base, m.Dim, m.Counts.Queries, m.Metric)
	fmt.Printf("query %d:", qidx)
	for _, value := range query[:min(shown, len(query))] {
		fmt.Printf(" %.6f", value)
	}
	fmt.Println()
	for i, word := range neighbours[:min(shown, len(neighbours))] {
		row := int64(int32(word))
		vector, err := matrices["base"].Floats(row)
		if err != nil {
			return err
		}
		fmt.Printf("neighbour %d: row %d, score %.6f, computed here %.6f\n", i+1, row, scores[i], score(m.Metric, query, vector))
	}
	fmt.Println(cell.setting())
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
