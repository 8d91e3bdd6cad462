import { TenantQueue } from '../queue/tenant-queue.js';
import { type Environment, systemEnvironment } from '../runtime/environment.js';
import { type Problem, problem } from '../wire/problem.js';
import { DocumentThread, ThreadStartError } from './document-thread.js';
import { type DocumentJob, type ParsedDocument, readDocument, readDocumentInSlices } from './job.js';

interface DocumentLimits {
  /** Time limit for reading one document. */
  readonly ms_max: number;
  readonly heap_mb_max: number;
  /** Maximum number of queued documents per tenant. */
  readonly queued_max: number;
  /** Idle time after which the thread is ended to free its memory. */
  readonly idle_ms: number;
}

const DEFAULT_DOCUMENT_LIMITS: DocumentLimits = {
  ms_max: 30_000,
  heap_mb_max: 768,
  queued_max: 4,
  idle_ms: 60_000,
};

/** Longer texts are read in a thread. YAML takes about a hundred times as long as JSON. */
export const LARGE_YAML_CHARS = 4 * 1024;
export const LARGE_JSON_CHARS = 64 * 1024;
/** Workspace files up to these sizes, each and in total, are read on the main thread, which yields between two files. */
const SMALL_FILE_CHARS = 8 * 1024;
const SMALL_FILES_CHARS = 256 * 1024;

function isSmall(job: DocumentJob): boolean {
  if (job.kind !== 'methodology') return false;
  const lengths = job.files.map(([, text]) => text.length);
  return Math.max(0, ...lengths) <= SMALL_FILE_CHARS && sum(lengths) <= SMALL_FILES_CHARS;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** Reads client documents that are too large to parse on the event loop between two requests. */
export interface DocumentReader {
  read(tenantId: string, job: DocumentJob): Promise<ParsedDocument | Problem>;
  close(): void;
}

/**
 * Reads on the main thread: small files, and everything in a simulator, which has no threads. Yields between the
 * files of a workspace, and reads one document at a time to bound memory.
 */
export class MainThreadDocumentReader implements DocumentReader {
  private previous: Promise<unknown> = Promise.resolve();

  constructor(private readonly environment: Pick<Environment, 'yieldToEventLoop'>) {}

  read(_: string, job: DocumentJob): Promise<ParsedDocument> {
    const reading = this.previous.then(() => this.readNow(job));
    this.previous = reading.catch(() => {});
    return reading;
  }

  close(): void {}

  private async readNow(job: DocumentJob): Promise<ParsedDocument> {
    const work = readDocumentInSlices(job);
    for (;;) {
      const pause = work.next();
      if (pause.done === true) return pause.value;
      await this.environment.yieldToEventLoop();
    }
  }
}

interface QueuedDocument {
  readonly job: DocumentJob;
  readonly settle: (outcome: Promise<ParsedDocument | Problem>) => void;
}

/** Reads in one worker thread, and serves tenants in turn: many documents of one tenant delay another by only one. */
export class ThreadedDocumentReader implements DocumentReader {
  private readonly queue = new TenantQueue<QueuedDocument>();
  private thread: DocumentThread | null = null;
  private idleTimer: NodeJS.Timeout | undefined;
  private isReading = false;
  /** For small documents, which take less time to read than a thread takes to start. */
  private readonly onMainThread = new MainThreadDocumentReader(systemEnvironment);

  constructor(private readonly limits: DocumentLimits = DEFAULT_DOCUMENT_LIMITS) {}

  read(tenantId: string, job: DocumentJob): Promise<ParsedDocument | Problem> {
    if (isSmall(job)) return this.onMainThread.read(tenantId, job);
    const queued = this.queue.countOf(tenantId);
    if (queued >= this.limits.queued_max) {
      const detail = `${queued} large documents of this tenant are already queued. Retry later.`;
      return Promise.resolve(problem('UNAVAILABLE', detail));
    }
    const reading = new Promise<ParsedDocument | Problem>((settle) =>
      this.queue.push(tenantId, { job, settle }),
    );
    if (!this.isReading) void this.readAll();
    return reading;
  }

  close(): void {
    clearTimeout(this.idleTimer);
    this.endThread();
  }

  private async readAll(): Promise<void> {
    this.isReading = true;
    clearTimeout(this.idleTimer);
    for (let next = this.queue.next(); next !== undefined; next = this.queue.next()) {
      const outcome = this.readNow(next.job);
      next.settle(outcome);
      await outcome.catch(() => {});
    }
    this.isReading = false;
    this.idleTimer = setTimeout(() => this.endThread(), this.limits.idle_ms).unref();
  }

  private async readNow(job: DocumentJob): Promise<ParsedDocument | Problem> {
    const { ms_max, heap_mb_max } = this.limits;
    this.thread ??= new DocumentThread({ maxOldGenerationSizeMb: heap_mb_max });
    try {
      const reply = await this.thread.read(job, ms_max);
      if ('document' in reply) return reply.document;
      this.endThread();
      return tooLargeProblem(reply.stopped, this.limits);
    } catch (error) {
      this.endThread();
      if (error instanceof ThreadStartError) return this.readOnMainThread(job, error);
      throw error;
    }
  }

  /**
   * Fallback if the worker's file is missing, as in some bundles:
   * documents are still read, but they block the event loop.
   */
  private readOnMainThread(job: DocumentJob, { message }: ThreadStartError): ParsedDocument {
    process.emitWarning(
      `Large documents are parsed on the main thread: the worker thread did not start (${message}). In a bundle, ` +
        'keep genesis-fleet external, or copy document.worker.js and the files it imports next to it.',
      'GenesisWarning',
    );
    return readDocument(job);
  }

  private endThread(): void {
    void this.thread?.end();
    this.thread = null;
  }
}

export const malformedProblem = (fault: string): Problem =>
  problem('INVALID_REQUEST', `body: ${fault}`, [{ path: '', message: fault }]);

function tooLargeProblem(stopped: 'time' | 'memory', { ms_max, heap_mb_max }: DocumentLimits): Problem {
  const exceeded =
    stopped === 'time'
      ? `takes longer than the limit of ${ms_max / 1000} seconds`
      : `needs more memory than the limit of ${heap_mb_max} MB`;
  const detail = `body: parsing ${exceeded}. Make the document smaller or simpler, or send it in parts.`;
  return problem('INVALID_REQUEST', detail);
}
