import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Observer } from '../../coordinator/index.js';
import type { ProjectCounts } from '../../coordinator/queries/queries.js';
import type { ProjectKey, Transaction } from '../../stores/store.js';
import { DROP_REASONS, type DropReason } from '../connection-limits.js';
import { BoundedLabelSet, type ProjectLabels } from './labels.js';
import { ProjectCounters } from './project-counters.js';

export const DEFAULT_PREFIX = 'coditect_';
/** Maximum number of projects with labels of their own. */
const PROJECTS_LABELLED_MAX = 100;
const PROJECT_LABELS = ['tenant', 'project'] as const;
const RESULT_LABELS = ['tenant', 'project', 'result'] as const;

/** Values read at scrape time instead of being counted. */
export interface GaugeSources {
  taskCounts(): Iterable<ProjectCounts>;
  /** Events not yet sent to the slowest subscriber. */
  feedLag(): number;
  /** Open event streams. */
  listeners(): number;
  /** Projects with a damaged log. */
  damage(): Iterable<ProjectKey>;
  /** Open connections. */
  connections(): number;
  /** Log lines that could not be written. */
  lostLogLines(): number;
}

/**
 * The metrics of seed 004 §8.1, with its names, labels and buckets,
 * plus operational ones: commit time, batch size, stream lag.
 */
export class Metrics implements Observer {
  private readonly registry = new Registry();
  private readonly projectCounters: BoundedLabelSet<ProjectCounters>;
  private readonly commitSeconds: Histogram;
  private readonly batchTransactions: Histogram;
  private gaugeSources: GaugeSources | null = null;
  private readonly droppedConnections = new Map<DropReason, number>(
    DROP_REASONS.map((reason) => [reason, 0]),
  );

  constructor(private readonly prefix = DEFAULT_PREFIX) {
    this.commitSeconds = this.histogram(
      'store_commit_seconds',
      'Duration of a batch commit.',
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    );
    this.batchTransactions = this.histogram(
      'batch_units',
      'Number of commands per commit.',
      [1, 4, 16, 64, 256, 1024],
    );
    this.projectCounters = this.createProjectCounters();
    this.registerCounters();
    this.registerTaskGauges();
    this.registerFeedGauges();
    this.registerDamageGauge();
    this.registerConnectionMetrics();
    this.registerCounter(
      'log_lines_lost_total',
      'Lines of the access log and the error log that could not be written.',
      [],
      (set) => set({}, this.gaugeSources?.lostLogLines() ?? 0),
    );
  }

  readonly content_type = Registry.PROMETHEUS_CONTENT_TYPE;

  setGaugeSources(gauges: GaugeSources): void {
    this.gaugeSources = gauges;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  answered(key: ProjectKey, kind: string, reply: unknown): void {
    this.projectCounters.forProject(key).countReply(kind, reply);
  }

  committed(key: ProjectKey, transaction: Transaction): void {
    this.projectCounters.forProject(key).countTransaction(transaction);
  }

  flushed(transactionCount: number, tookMs: number): void {
    this.commitSeconds.observe(tookMs / 1000);
    this.batchTransactions.observe(transactionCount);
  }

  connectionDropped(reason: DropReason): void {
    this.droppedConnections.set(reason, (this.droppedConnections.get(reason) ?? 0) + 1);
  }

  private registerConnectionMetrics(): void {
    this.registerGauge('open_connections', 'Open connections.', (gauges) => gauges.connections());
    this.registerCounter(
      'connections_dropped_total',
      'Connections closed without a response, by reason.',
      ['reason'],
      (set) => {
        for (const [reason, count] of this.droppedConnections) set({ reason }, count);
      },
    );
  }

  private createProjectCounters(): BoundedLabelSet<ProjectCounters> {
    const claim = this.histogram(
      'claim_duration_seconds',
      'Time from the grant of a claim to its end by result, release or expiry.',
      [1, 5, 15, 60, 300, 900, 3600],
      PROJECT_LABELS,
    );
    const completion = this.histogram(
      'task_completion_time_seconds',
      'Time from the first grant of a task to its accepted result.',
      [10, 60, 300, 900, 3600, 7200],
      PROJECT_LABELS,
    );
    const generations = this.histogram(
      'generations_per_task',
      'Generations of a task at its completion.',
      [1, 2, 3, 5, 10, 20, 50],
      PROJECT_LABELS,
    );
    const durations = {
      claimEnded: (labels: ProjectLabels, seconds: number) => claim.observe({ ...labels }, seconds),
      taskCompleted: (labels: ProjectLabels, seconds: number, taken: number) => {
        completion.observe({ ...labels }, seconds);
        generations.observe({ ...labels }, taken);
      },
    };
    return new BoundedLabelSet(PROJECTS_LABELLED_MAX, (labels) => new ProjectCounters(labels, durations));
  }

  private registerCounters(): void {
    const byResult = (of: (counters: ProjectCounters) => Iterable<readonly [string, number]>) =>
      this.forEachProject((counters, set) => {
        for (const [result, count] of of(counters)) set({ ...counters.labels, result }, count);
      });
    const total = (of: (counters: ProjectCounters) => number) =>
      this.forEachProject((counters, set) => set({ ...counters.labels }, of(counters)));
    this.registerCounter(
      'claims_total',
      'Claim requests by result.',
      RESULT_LABELS,
      byResult((t) => t.claims),
    );
    this.registerCounter(
      'results_total',
      'Submitted results by outcome.',
      RESULT_LABELS,
      byResult((t) => t.results),
    );
    this.registerCounter(
      'lease_renewals_total',
      'Lease renewals by result.',
      RESULT_LABELS,
      byResult((t) => [
        ['renewed', t.renewed],
        ['failed', t.renewals_failed],
      ]),
    );
    this.registerCounter(
      'lease_expirations_total',
      'Expired leases.',
      PROJECT_LABELS,
      total((t) => t.expirations),
    );
    this.registerCounter(
      'generation_increments_total',
      'Granted claims: each increments a generation.',
      PROJECT_LABELS,
      total((t) => t.generations),
    );
  }

  private registerTaskGauges(): void {
    this.registerProjectGauge('active_claims', 'Live claims.', ({ active_claims }) => active_claims);
    this.registerProjectGauge(
      'pending_tasks',
      'Tasks and subtasks that are not completed.',
      ({ pending_tasks }) => pending_tasks,
    );
    this.registerProjectGauge(
      'completed_tasks',
      'Completed tasks and subtasks.',
      ({ completed_tasks }) => completed_tasks,
    );
  }

  private registerFeedGauges(): void {
    this.registerGauge('feed_lag_events', 'Events not yet sent to the slowest listener.', (gauges) =>
      gauges.feedLag(),
    );
    this.registerGauge('feed_listeners', 'Open event streams.', (gauges) => gauges.listeners());
  }

  private registerDamageGauge(): void {
    const labels = new BoundedLabelSet(PROJECTS_LABELLED_MAX, (own) => own);
    const gauge: Gauge = new Gauge({
      name: `${this.prefix}log_damaged`,
      help: 'Damaged logs found so far.',
      labelNames: [...PROJECT_LABELS],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        for (const key of this.gaugeSources?.damage() ?? []) gauge.inc({ ...labels.forProject(key) });
      },
    });
  }

  private registerGauge(name: string, help: string, of: (gauges: GaugeSources) => number): void {
    const gauge: Gauge = new Gauge({
      name: this.prefix + name,
      help,
      registers: [this.registry],
      collect: () => gauge.set(this.gaugeSources === null ? 0 : of(this.gaugeSources)),
    });
  }

  private forEachProject(
    collect: (
      counters: ProjectCounters,
      set: (labels: Record<string, string>, count: number) => void,
    ) => void,
  ) {
    return (set: (labels: Record<string, string>, count: number) => void) => {
      for (const counters of this.projectCounters.all()) collect(counters, set);
    };
  }

  /** Registers a counter that is filled from plain tallies at scrape time. */
  private registerCounter(
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

  private registerProjectGauge(name: string, help: string, of: (counts: ProjectCounts) => number): void {
    const labels = new BoundedLabelSet(PROJECTS_LABELLED_MAX, (own) => own);
    const gauge: Gauge = new Gauge({
      name: this.prefix + name,
      help,
      labelNames: [...PROJECT_LABELS],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        for (const counts of this.gaugeSources?.taskCounts() ?? []) {
          gauge.inc({ ...labels.forProject(counts.key) }, of(counts));
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
