import type { Metric } from 'prom-client';

/**
 * A histogram as plain numbers. A histogram of the metrics library looks up its labels with every observation, which takes
 * longer than the rest of the bookkeeping of a command.
 */
export class BucketCounts {
  sum = 0;
  count = 0;
  private readonly counts: number[];

  /** `bounds`: the upper bounds of the buckets, ascending. */
  constructor(private readonly bounds: readonly number[]) {
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.sum += value;
    this.count += 1;
    for (let bucket = 0; bucket < this.bounds.length; bucket += 1) {
      if (value > (this.bounds[bucket] as number)) continue;
      this.counts[bucket] = (this.counts[bucket] as number) + 1;
      return;
    }
  }

  /** Each bound with the number of values up to it, as Prometheus counts them. */
  cumulative(): (readonly [bound: string, count: number])[] {
    let total = 0;
    const bounded = this.bounds.map((bound, bucket) => {
      total += this.counts[bucket] as number;
      return [String(bound), total] as const;
    });
    return [...bounded, ['+Inf', this.count]];
  }
}

type Labels = Readonly<Record<string, string>>;
type LabelledCounts = Iterable<readonly [labels: Labels, counts: BucketCounts]>;

/** A metric of the library that reads `counts` at scrape time. The library calls only `get`, and reads the name. */
export function histogramMetric(name: string, help: string, counts: () => LabelledCounts): Metric {
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: [...counts()].flatMap(([labels, each]) => samplesOf(name, labels, each)),
  });
  return { name, get } as unknown as Metric;
}

const samplesOf = (name: string, labels: Labels, counts: BucketCounts) => [
  ...counts.cumulative().map(([le, value]) => ({
    metricName: `${name}_bucket`,
    labels: { le, ...labels },
    value,
  })),
  { metricName: `${name}_sum`, labels, value: counts.sum },
  { metricName: `${name}_count`, labels, value: counts.count },
];
