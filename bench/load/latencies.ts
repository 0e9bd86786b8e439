/** Latencies of one load, milliseconds. */
export class Latencies {
  private readonly values: number[] = [];

  add(milliseconds: number): void {
    this.values.push(milliseconds);
  }

  get count(): number {
    return this.values.length;
  }

  /** The latency at this share of the requests, such as 0.99; 0 without requests. */
  percentile(share: number): number {
    const sorted = Float64Array.from(this.values).sort();
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  }
}
