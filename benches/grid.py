"""The grid of every store, k and target as Markdown, from the files of a calibrated dataset.

    python benches/grid.py DATASET

A cell is outside if its held-out recall is more than 0.005 below its target or 0.010 above it. The
reason is found in the cell itself: the smallest legal value already overshoots, one step of the knob
is larger than the band, the target was not reached, or the store has no knob.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

LOW, HIGH = -0.005, 0.010


def reason(cell):
    if cell["value"] is None:
        return "no knob: it is exact"
    if not cell["reached"]:
        return "not reached: " + "; ".join(cell["notes"])
    below = cell["value_below_recall"]
    if below is None:
        return "the smallest legal value overshoots"
    step = cell["calibration_recall"] - below
    if step > HIGH - LOW:
        return f"one step of the knob is {step:.4f} of recall"
    return f"sampling: {cell['calibration_recall'] - cell['target']:+.4f} on the calibration queries"


def main():
    dataset = Path(sys.argv[1])
    manifest = json.loads((dataset / "manifest.json").read_text())
    inside = 0
    outside, costs = [], defaultdict(lambda: [0, 0.0])
    print("| store | k | target | knob | value | held-out | minus target | 95% interval | below | evaluations |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in sorted(manifest["stores"]):
        calibration = json.loads((dataset / "calibration" / f"{name}.json").read_text())
        for point in calibration["points"]:
            costs[name, point["k"]][0] += 1
            costs[name, point["k"]][1] += point["seconds"]
        for cell in calibration["cells"]:
            off = cell["held_out_recall"] - cell["target"]
            below = cell["value_below_recall"]
            fails = "-" if below is None else f"{below:.4f}, {'fails' if below < cell['target'] else 'PASSES'}"
            if LOW <= off <= HIGH:
                inside += 1
            else:
                outside.append((cell, off))
            interval = f"{cell['held_out_low']:.4f}-{cell['held_out_high']:.4f}"
            print(
                f"| {name} | {cell['k']} | {cell['target']} | {cell['knob'] or '-'} | {cell['value'] or '-'} "
                f"| {cell['held_out_recall']:.4f} | {off:+.4f} | {interval} | {fails} | {cell['evaluations']} |"
            )
    print(f"\n{inside} of {inside + len(outside)} cells lie within {LOW} and +{HIGH} of their target. Outside:\n")
    print("| store | k | target | minus target | why |")
    print("|---|---|---|---|---|")
    for cell, off in outside:
        print(f"| {cell['store']} | {cell['k']} | {cell['target']} | {off:+.4f} | {reason(cell)} |")
    print("\n| store | k | measurements | seconds in all |")
    print("|---|---|---|---|")
    for (name, k), (count, seconds) in sorted(costs.items()):
        print(f"| {name} | {k} | {count} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
