import {
  Counter,
  type CounterConfiguration,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  Registry,
} from 'prom-client';
import type { Observer } from '../../coordinator/index.js';
import type { ProjectCounts } from '../../coordinator/queries/project-counts.js';
import type { Head } from '../../core/claims/head.js';
import type { LogStep, ProjectKey, Transaction } from '../../stores/store.js';
import { DROP_REASONS, type DropReason } from '../connection-limits.js';
import { type BucketCounts, histogramMetric } from './bucket-counts.js';
import { BoundedLabelSet } from './labels.js';
import { ProjectCounters } from './project-counters.js';

const DEFAULT_PREFIX = 'coditect_';
/** Maximum number of projects with labels. */
const PROJECTS_LABELLED_MAX = 100;
const PROJECT_LABELS = ['tenant', 'project'];

type MetricConfiguration = CounterConfiguration<string> & GaugeConfiguration<string>;
type Samples = Iterable<readonly [labels: Record<string, string>, value: number]>;

/** Values read at scrape time instead of being counted. */
interface GaugeSources {
  projectCounts(): Promise<readonly ProjectCounts[]>;
  /** Events not yet sent to the slowest event stream. */
  feedLag(): number;
  /** Open event streams. */
  listeners(): number;
  /** Projects with a damaged log. */
  damage(): Iterable<ProjectKey>;
  /** Open connections. */
  connections(): number;
  /** Log lines that could not be written. */
  lostLogLines(): number;
  /** Projects whose checkpoints contradict each other, are not valid or cannot be signed. */
  auditAlarms(): Iterable<ProjectKey>;
  /** Checkpoints that a sink has not confirmed yet. */
  undeliveredCheckpoints(): number;
}

/**
 * The metrics of specification 004 §8.1, with its names, labels and buckets,
 * plus operational ones, such as commit time, batch size and stream lag.
 */
export class Metrics implements Observer {
  private readonly registry = new Registry();
  private readonly projectCounters: BoundedLabelSet<ProjectCounters>;
  private readonly commitSeconds: Histogram;
  private readonly batchTransactions: Histogram;
  private gaugeSources: GaugeSources | null = null;
  /** The counts of the current scrape. */
  private projectCounts: readonly ProjectCounts[] = [];
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
    this.projectCounters = new BoundedLabelSet(
      PROJECTS_LABELLED_MAX,
      (labels) => new ProjectCounters(labels),
    );
    this.registerProjectHistograms();
    this.registerProjectCounters();
    this.registerGauges();
    this.register(
      Counter,
      'connections_dropped_total',
      'Connections closed without a response, by reason.',
      ['reason'],
      () => [...this.droppedConnections].map(([reason, count]) => [{ reason }, count]),
    );
    this.register(
      Counter,
      'log_lines_lost_total',
      'Lines of the access log and the error log that could not be written.',
      [],
      () => this.readGauges((gauges) => [[{}, gauges.lostLogLines()]]),
    );
  }

  setGaugeSources(gauges: GaugeSources): void {
    this.gaugeSources = gauges;
  }

  async text(): Promise<string> {
    this.projectCounts = (await this.gaugeSources?.projectCounts()) ?? [];
    return this.registry.metrics();
  }

  answered(projectKey: ProjectKey, kind: string, reply: unknown): void {
    this.projectCounters.forProject(projectKey).countReply(kind, reply);
  }

  committed(projectKey: ProjectKey, transaction: Transaction): void {
    this.projectCounters.forProject(projectKey).countTransaction(transaction);
  }

  stepCommitted(projectKey: ProjectKey, { event, head }: LogStep): void {
    this.projectCounters.forProject(projectKey).countEvent(event, head as Head);
  }

  flushed(transactionCount: number, tookMs: number): void {
    this.commitSeconds.observe(tookMs / 1000);
    this.batchTransactions.observe(transactionCount);
  }

  connectionDropped(reason: DropReason): void {
    this.droppedConnections.set(reason, (this.droppedConnections.get(reason) ?? 0) + 1);
  }

  private registerProjectHistograms(): void {
    const addHistogram = (name: string, help: string, of: (counters: ProjectCounters) => BucketCounts) =>
      this.registry.registerMetric(
        histogramMetric(this.prefix + name, help, () =>
          this.projectCounters.all().map((counters) => [counters.labels, of(counters)]),
        ),
      );
    addHistogram(
      'claim_duration_seconds',
      'Time from the grant of a claim to its end by result, release or expiry.',
      ({ claimSeconds }) => claimSeconds,
    );
    addHistogram(
      'task_completion_time_seconds',
      'Time from the first grant of a task to its accepted result.',
      ({ completionSeconds }) => completionSeconds,
    );
    addHistogram(
      'generations_per_task',
      'Generations of a task at its completion.',
      ({ generationsPerTask }) => generationsPerTask,
    );
  }

  private registerProjectCounters(): void {
    const addResultCounter = (
      name: string,
      help: string,
      of: (counters: ProjectCounters) => Map<string, number>,
    ) =>
      this.register(Counter, name, help, [...PROJECT_LABELS, 'result'], () =>
        this.projectCounters
          .all()
          .flatMap((counters) =>
            [...of(counters)].map(([result, count]) => [{ ...counters.labels, result }, count] as const),
          ),
      );
    const addTotalCounter = (name: string, help: string, of: (counters: ProjectCounters) => number) =>
      this.register(Counter, name, help, PROJECT_LABELS, () =>
        this.projectCounters.all().map((counters) => [counters.labels, of(counters)] as const),
      );
    addResultCounter('claims_total', 'Claim requests by result.', ({ claims }) => claims);
    addResultCounter('results_total', 'Submitted results by outcome.', ({ results }) => results);
    addResultCounter('lease_renewals_total', 'Lease renewals by result.', ({ renewals }) => renewals);
    addTotalCounter('lease_expirations_total', 'Expired leases.', ({ expirations }) => expirations);
    addTotalCounter(
      'generation_increments_total',
      'Granted claims: each increments a generation.',
      ({ generations }) => generations,
    );
  }

  private registerGauges(): void {
    const addWorkGauge = (name: string, help: string, of: (counts: ProjectCounts) => number) =>
      this.registerProjectGauge(name, help, () =>
        this.projectCounts.map((counts) => [counts.key, of(counts)] as const),
      );
    const addServerGauge = (name: string, help: string, of: (gauges: GaugeSources) => number) =>
      this.register(Gauge, name, help, [], () => this.readGauges((gauges) => [[{}, of(gauges)]]));
    addWorkGauge('active_claims', 'Live claims.', ({ active_claims }) => active_claims);
    addWorkGauge(
      'stale_claims',
      'Live claims that are inactive beyond the threshold of the project.',
      ({ stale_claims }) => stale_claims,
    );
    addWorkGauge(
      'ready_tasks',
      'Tasks, subtasks and edges that are not claimed and whose dependencies are complete.',
      ({ ready_tasks }) => ready_tasks,
    );
    addWorkGauge(
      'pending_tasks',
      'Tasks, subtasks and edges that are not completed.',
      ({ pending_tasks }) => pending_tasks,
    );
    addWorkGauge(
      'completed_tasks',
      'Completed tasks, subtasks and edges.',
      ({ completed_tasks }) => completed_tasks,
    );
    addServerGauge('feed_lag_events', 'Events not yet sent to the slowest event stream.', (gauges) =>
      gauges.feedLag(),
    );
    addServerGauge('feed_listeners', 'Open event streams.', (gauges) => gauges.listeners());
    this.registerProjectGauge('log_damaged', 'Damaged logs found so far.', (gauges) =>
      [...gauges.damage()].map((projectKey) => [projectKey, 1] as const),
    );
    addServerGauge('open_connections', 'Open connections.', (gauges) => gauges.connections());
    this.registerProjectGauge(
      'audit_alarms',
      'Logs whose checkpoints contradict each other, are not valid or cannot be signed.',
      (gauges) => [...gauges.auditAlarms()].map((projectKey) => [projectKey, 1] as const),
    );
    addServerGauge(
      'audit_checkpoints_undelivered',
      'Checkpoints that a sink has not confirmed yet.',
      (gauges) => gauges.undeliveredCheckpoints(),
    );
  }

  /** Registers a gauge with one value per project. Values of projects that share a label are added. */
  private registerProjectGauge(
    name: string,
    help: string,
    of: (gauges: GaugeSources) => readonly (readonly [projectKey: ProjectKey, value: number])[],
  ): void {
    const labels = new BoundedLabelSet(PROJECTS_LABELLED_MAX, (projectLabels) => projectLabels);
    this.register(Gauge, name, help, PROJECT_LABELS, () =>
      this.readGauges((gauges) =>
        of(gauges).map(([projectKey, value]) => [labels.forProject(projectKey), value]),
      ),
    );
  }

  private readGauges(read: (gauges: GaugeSources) => Samples): Samples {
    return this.gaugeSources === null ? [] : read(this.gaugeSources);
  }

  /** Registers a metric that is filled from plain numbers at scrape time. */
  private register(
    Metric: new (configuration: MetricConfiguration) => Pick<Gauge, 'reset' | 'inc'>,
    name: string,
    help: string,
    labelNames: string[],
    samples: () => Samples,
  ): void {
    const collect = (): void => {
      metric.reset();
      for (const [labels, value] of samples()) metric.inc(labels, value);
    };
    const metric = new Metric({
      name: this.prefix + name,
      help,
      labelNames,
      registers: [this.registry],
      collect,
    });
  }

  private histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name: this.prefix + name, help, buckets, registers: [this.registry] });
  }
}
