import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Witness } from '../../coordinator/index.js';
import type { Standing } from '../../coordinator/queries/queries.js';
import type { ProjectKey, Unit } from '../../stores/store.js';
import { DROP_REASONS, type DropReason } from '../connection-limits.js';
import { LabelSet, type ProjectLabels } from './labels.js';
import { Tally } from './tally.js';

export const DEFAULT_PREFIX = 'coditect_';
/** Projects with labels of their own. */
const PROJECTS_LABELLED_MAX = 100;
const BY_PROJECT = ['tenant', 'project'] as const;
const BY_RESULT = ['tenant', 'project', 'result'] as const;

/** What is read when somebody asks, rather than told as it happens. */
export interface Gauges {
  standings(): Iterable<Standing>;
  /** Events that the slowest listener of the feed has not been sent yet. */
  feedLag(): number;
  /** Open event streams. */
  listeners(): number;
  /** Logs that are not what was written. */
  damage(): Iterable<ProjectKey>;
  /** Open connections. */
  connections(): number;
  /** Lines of logs that could not be written. */
  lostLogLines(): number;
}

/**
 * The metrics of seed 004 §8.1, by its names, labels and buckets, and those of the machinery: what the store takes, how
 * large batches are, how far listeners are behind.
 */
export class Metrics implements Witness {
  private readonly registry = new Registry();
  private readonly tallies: LabelSet<Tally>;
  private readonly store_seconds: Histogram;
  private readonly batch_units: Histogram;
  private gauges: Gauges | null = null;
  private readonly dropped = new Map<DropReason, number>(DROP_REASONS.map((reason) => [reason, 0]));

  constructor(private readonly prefix = DEFAULT_PREFIX) {
    this.store_seconds = this.histogram(
      'store_commit_seconds',
      'What one commit of a batch took.',
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    );
    this.batch_units = this.histogram(
      'batch_units',
      'Commands committed together.',
      [1, 4, 16, 64, 256, 1024],
    );
    this.tallies = this.tallying();
    this.counters();
    this.standingGauges();
    this.feedGauges();
    this.damageGauge();
    this.connectionMetrics();
    this.counter(
      'log_lines_lost_total',
      'Lines of the access log and of the error log that could not be written.',
      [],
      (set) => set({}, this.gauges?.lostLogLines() ?? 0),
    );
  }

  readonly content_type = Registry.PROMETHEUS_CONTENT_TYPE;

  watch(gauges: Gauges): void {
    this.gauges = gauges;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  answered(key: ProjectKey, kind: string, reply: unknown): void {
    this.tallies.of(key).answered(kind, reply);
  }

  committed(key: ProjectKey, unit: Unit): void {
    this.tallies.of(key).committed(unit);
  }

  flushed(unit_count: number, took_ms: number): void {
    this.store_seconds.observe(took_ms / 1000);
    this.batch_units.observe(unit_count);
  }

  connectionDropped(reason: DropReason): void {
    this.dropped.set(reason, (this.dropped.get(reason) ?? 0) + 1);
  }

  private connectionMetrics(): void {
    this.reading('open_connections', 'Open connections.', (gauges) => gauges.connections());
    this.counter(
      'connections_dropped_total',
      'Connections closed without an answer, by why.',
      ['reason'],
      (set) => {
        for (const [reason, count] of this.dropped) set({ reason }, count);
      },
    );
  }

  private tallying(): LabelSet<Tally> {
    const claim = this.histogram(
      'claim_duration_seconds',
      'From a grant to its end, by result, release or expiry.',
      [1, 5, 15, 60, 300, 900, 3600],
      BY_PROJECT,
    );
    const completion = this.histogram(
      'task_completion_time_seconds',
      'From the first grant of a task to its accepted result.',
      [10, 60, 300, 900, 3600, 7200],
      BY_PROJECT,
    );
    const generations = this.histogram(
      'generations_per_task',
      'Generations that a task had taken when it was complete.',
      [1, 2, 3, 5, 10, 20, 50],
      BY_PROJECT,
    );
    const durations = {
      claimEnded: (labels: ProjectLabels, seconds: number) => claim.observe({ ...labels }, seconds),
      taskCompleted: (labels: ProjectLabels, seconds: number, taken: number) => {
        completion.observe({ ...labels }, seconds);
        generations.observe({ ...labels }, taken);
      },
    };
    return new LabelSet(PROJECTS_LABELLED_MAX, (labels) => new Tally(labels, durations));
  }

  private counters(): void {
    const byResult = (of: (tally: Tally) => Iterable<readonly [string, number]>) =>
      this.each((tally, set) => {
        for (const [result, count] of of(tally)) set({ ...tally.labels, result }, count);
      });
    const one = (of: (tally: Tally) => number) =>
      this.each((tally, set) => set({ ...tally.labels }, of(tally)));
    this.counter(
      'claims_total',
      'Claims by what was answered.',
      BY_RESULT,
      byResult((t) => t.claims),
    );
    this.counter(
      'results_total',
      'Results by what was answered.',
      BY_RESULT,
      byResult((t) => t.results),
    );
    this.counter(
      'lease_renewals_total',
      'Renewals by what was answered.',
      BY_RESULT,
      byResult((t) => [
        ['renewed', t.renewed],
        ['failed', t.renewals_failed],
      ]),
    );
    this.counter(
      'lease_expirations_total',
      'Leases that ran out.',
      BY_PROJECT,
      one((t) => t.expirations),
    );
    this.counter(
      'generation_increments_total',
      'Grants: each adds 1 to a generation.',
      BY_PROJECT,
      one((t) => t.generations),
    );
  }

  private standingGauges(): void {
    this.gauge('active_claims', 'Claims that are live.', ({ active_claims }) => active_claims);
    this.gauge('pending_tasks', 'Tasks and subtasks not complete.', ({ pending_tasks }) => pending_tasks);
    this.gauge('completed_tasks', 'Tasks and subtasks complete.', ({ completed_tasks }) => completed_tasks);
  }

  private feedGauges(): void {
    this.reading('feed_lag_events', 'Events the slowest listener is behind.', (gauges) => gauges.feedLag());
    this.reading('feed_listeners', 'Open event streams.', (gauges) => gauges.listeners());
  }

  private damageGauge(): void {
    const labels = new LabelSet(PROJECTS_LABELLED_MAX, (own) => own);
    const gauge: Gauge = new Gauge({
      name: `${this.prefix}log_damaged`,
      help: 'Places where a log is not what was written, found so far.',
      labelNames: [...BY_PROJECT],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        for (const key of this.gauges?.damage() ?? []) gauge.inc({ ...labels.of(key) });
      },
    });
  }

  private reading(name: string, help: string, of: (gauges: Gauges) => number): void {
    const gauge: Gauge = new Gauge({
      name: this.prefix + name,
      help,
      registers: [this.registry],
      collect: () => gauge.set(this.gauges === null ? 0 : of(this.gauges)),
    });
  }

  private each(tell: (tally: Tally, set: (labels: Record<string, string>, count: number) => void) => void) {
    return (set: (labels: Record<string, string>, count: number) => void) => {
      for (const tally of this.tallies.all()) tell(tally, set);
    };
  }

  /** Counted in tallies; the counter itself is filled when somebody asks. */
  private counter(
    name: string,
    help: string,
    labelNames: readonly string[],
    collect: (set: (labels: Record<string, string>, count: number) => void) => void,
  ): void {
    const counter: Counter = new Counter({
      name: this.prefix + name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      collect: () => {
        counter.reset();
        collect((labels, count) => counter.inc(labels, count));
      },
    });
  }

  private gauge(name: string, help: string, of: (standing: Standing) => number): void {
    const labels = new LabelSet(PROJECTS_LABELLED_MAX, (own) => own);
    const gauge: Gauge = new Gauge({
      name: this.prefix + name,
      help,
      labelNames: [...BY_PROJECT],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        for (const standing of this.gauges?.standings() ?? []) {
          gauge.inc({ ...labels.of(standing.key) }, of(standing));
        }
      },
    });
  }

  private histogram(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly string[] = [],
  ): Histogram {
    return new Histogram({
      name: this.prefix + name,
      help,
      buckets,
      labelNames: [...labelNames],
      registers: [this.registry],
    });
  }
}
