import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100; // USER_HZ, which is 100 on every Linux

interface Stat {
  parent: number;
  own: number;
  ofEndedChildren: number;
}

/** CPU seconds of a process and its children; 0 without /proc. */
export function cpuSeconds(pid: number): number {
  const root = stat(pid);
  if (!root) return 0;
  const children = childrenOf(pid).map((child) => stat(child)?.own ?? 0);
  return root.own + root.ofEndedChildren + children.reduce((sum, own) => sum + own, 0);
}

/** CPU seconds that the machine was busy, stolen time included. */
export function busySeconds(): number {
  try {
    const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
      .split('\n', 1)[0]!
      .split(/\s+/)
      .slice(1)
      .map(Number) as number[];
    return (user! + nice! + system! + irq! + softirq! + steal!) / ticksPerSecond;
  } catch {
    return 0;
  }
}

/** Peak memory of a process, MiB. */
export function peakMiB(pid: number): number {
  return kilobytes(`/proc/${pid}/status`, 'VmHWM') / 1024;
}

/** Memory of a process and its children, MiB; shared memory counts once. */
export function familyMiB(pid: number): number {
  const all = [pid, ...childrenOf(pid)];
  return all.reduce((sum, one) => sum + kilobytes(`/proc/${one}/smaps_rollup`, 'Pss'), 0) / 1024;
}

/** The parent process. */
export function parentOf(pid: number): number {
  return stat(pid)?.parent ?? 0;
}

function childrenOf(pid: number): number[] {
  try {
    const processes = readdirSync('/proc').map(Number).filter(Number.isInteger);
    return processes.filter((child) => parentOf(child) === pid);
  } catch {
    return [];
  }
}

function stat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, up to the last bracket, may contain spaces and brackets.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [utime, stime, cutime, cstime] = fields.slice(11, 15) as [number, number, number, number];
    return {
      parent: fields[1]!,
      own: (utime + stime) / ticksPerSecond,
      ofEndedChildren: (cutime + cstime) / ticksPerSecond,
    };
  } catch {
    return undefined;
  }
}

function kilobytes(file: string, name: string): number {
  try {
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
