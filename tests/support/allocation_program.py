"""A cluster of this machine's PEs, and a program that says how long it ran, to run allocations of."""

import os

CPUS = sorted(os.sched_getaffinity(0))
CLUSTER = f"""
format: 1
platform:
  nodes:
    - name: here
      host: localhost
      pes:
        - {{name: fast, cpu: {CPUS[0]}, speeds: {{dgemm: 45 Gflop/s}}}}
        - name: slow
          cpu: {CPUS[-1]}
          speeds: {{dgemm: 45 Gflop/s}}
          load: {{trace: {{times_s: [0], values: [2], end_s: 1}}, rule: fair}}
  link: {{latency: 2us, bandwidth: 5GB/s}}
"""
PROGRAM = """
import sys, os, subprocess, time
n, p, cpus, kinds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4].split(",")
open({log!r}, "a").write(f"{{n}} {{sys.argv[4]}}\\n")
{body}
print("WR00L2L2", n, 64, 1, p, f"{{n * len(kinds) / 1e6:.6f}}", 1.0)
for kind in sorted(set(kinds)):
    print(f"kind={{kind}} comp_s={{n / 1e6:.6f}} comm_s=0.5")
"""
