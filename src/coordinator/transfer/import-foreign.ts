import type { ImportedCount } from '../../core/contract/events.js';
import type { NewEvent } from '../../core/events/envelope.js';
import { ForeignLogReader, type ImportedLine, UNCONVERTED_LINE } from '../../core/events/foreign-log.js';
import { isKnownEventType } from '../../core/events/known-event-types.js';
import type { ForeignLogContext } from '../../core/events/read-flat.js';
import { TRANSACTION_SIZE_MAX } from '../../stores/store.js';
import { foreignEventIdFor } from '../runtime/identity.js';
import type { AsyncReply } from '../wire/problem.js';
import { foreignLines, type StoreBlob } from './foreign-lines.js';
import { importTooLarge } from './imported-events.js';

const REPORT_EVERY_LINES = 256;
/** Maximum number of entries in each list of the report, since every line may add one. */
const REPORTED_MAX = 100;

/** Where an import writes its events and blobs. An import without a target is a dry run. */
export interface ForeignTarget {
  /** Writes all of them or none. */
  put(events: readonly NewEvent[]): Promise<ImportedCount>;
  readonly putBlob: StoreBlob;
}

interface ForeignImportOptions extends ForeignLogContext {
  /** Null skips the check for unknown edges. */
  readonly known_edges: ReadonlySet<string> | null;
  /** Whether a log that exceeds one transaction is written in several. Otherwise it is refused. */
  readonly is_in_parts?: boolean;
  /** Called with the number of lines read so far, once for every few hundred lines. */
  readonly onRead?: (lines: number) => void;
}

export interface ForeignReport {
  readonly source: string;
  /** Non-empty lines; each becomes one event. */
  read: number;
  written: number;
  already_there: number;
  /** Lines kept as `foreign_line`; `unplaced` lists the first of them. */
  unplaced_count: number;
  readonly unplaced: { readonly line: number; readonly why: string }[];
  readonly unknown_types: Record<string, number>;
  readonly projects_seen: Record<string, number>;
  readonly edges_unknown: Record<string, number>;
  /** Per list: the number of lines that it leaves out, because it has its maximum number of entries. */
  readonly not_listed: Record<ReportList, number>;
}

type ReportList = 'unplaced' | 'unknown_types' | 'projects_seen' | 'edges_unknown';

/**
 * Imports the log of another tool, one event per line, in order. A log that fits into one transaction is written after
 * all of it is read. A larger log is written in parts if `is_in_parts` is true, and refused otherwise. Event ids derive
 * from the lines, so a repeated import writes only the missing events.
 */
export async function importForeign(
  input: AsyncIterable<Uint8Array>,
  target: ForeignTarget | null,
  options: ForeignImportOptions,
): AsyncReply<ForeignReport> {
  const report = emptyReport(options.source);
  const reader = new ForeignLogReader(options, foreignEventIdFor(options));
  const storeBlob: StoreBlob =
    target === null ? async () => {} : (sha256, bytes) => target.putBlob(sha256, bytes);
  let batch: NewEvent[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (batch.length > 0 && target !== null) {
      const { written, already_there } = await target.put(batch);
      report.written += written;
      report.already_there += already_there;
    }
    batch = [];
    bytes = 0;
  };
  for await (const line of foreignLines(input, storeBlob)) {
    const importedLine = reader.readLine(line);
    if (importedLine === null) continue;
    addToReport(report, importedLine, options.known_edges);
    const size = Buffer.byteLength(JSON.stringify(importedLine.event));
    const isFull = batch.length === TRANSACTION_SIZE_MAX.events || bytes + size > TRANSACTION_SIZE_MAX.bytes;
    if (isFull && options.is_in_parts !== true) return importTooLarge(TRANSACTION_SIZE_MAX);
    if (isFull) await flush();
    batch.push(importedLine.event);
    bytes += size;
    if (report.read % REPORT_EVERY_LINES === 0) options.onRead?.(report.read);
  }
  await flush();
  return report;
}

function addToReport(
  report: ForeignReport,
  { line, event, why }: ImportedLine,
  edges: ReadonlySet<string> | null,
): void {
  report.read += 1;
  if (why !== null) {
    report.unplaced_count += 1;
    if (report.unplaced.length < REPORTED_MAX) report.unplaced.push({ line, why });
    else report.not_listed.unplaced += 1;
  }
  const { event_type, edge, payload } = event;
  if (event_type !== UNCONVERTED_LINE && !isKnownEventType(event_type))
    incrementCount(report, 'unknown_types', event_type);
  if (edge !== undefined && edges !== null && !edges.has(edge)) incrementCount(report, 'edges_unknown', edge);
  const { project } = payload.imported as { project?: string };
  if (project !== undefined) incrementCount(report, 'projects_seen', project);
}

function incrementCount(report: ForeignReport, list: Exclude<ReportList, 'unplaced'>, name: string): void {
  const counts = report[list];
  if (Object.hasOwn(counts, name)) counts[name] = (counts[name] ?? 0) + 1;
  else if (Object.keys(counts).length < REPORTED_MAX) counts[name] = 1;
  else report.not_listed[list] += 1;
}

const emptyReport = (source: string): ForeignReport => ({
  source,
  read: 0,
  written: 0,
  already_there: 0,
  unplaced_count: 0,
  unplaced: [],
  unknown_types: {},
  projects_seen: {},
  edges_unknown: {},
  not_listed: { unplaced: 0, unknown_types: 0, projects_seen: 0, edges_unknown: 0 },
});
