import { type DestinationStream, pino } from 'pino';
import { type LogFile, standardErrorLog } from './log-file.js';

export interface LogLine {
  readonly level: 'info' | 'error';
  readonly [field: string]: unknown;
}
/** Writes an object as one line of JSON. */
export type LogSink = (line: LogLine) => void;

export interface ServerLogOptions {
  /** Receives a line per request, and one per error. */
  readonly log?: LogSink;
  /** Whether `log` receives lines while requests need no credential. Default: true. */
  readonly shouldLogOpenMode?: boolean;
  /** Receives a line per error, even if there is no `log`. Default: standard error. */
  readonly errorLog?: LogSink;
  /** Number of lines that `log` and `errorLog` accepted but could not write, for the metrics. */
  readonly lostLogLines?: () => number;
}

/** A server's logs. They never throw, and lost lines are counted. */
export class ServerLogs {
  readonly accessLog: LogSink | null;
  readonly errorLog: LogSink;
  private lostInSinks = 0;
  private readonly standardError: LogFile | null;

  constructor(private readonly options: ServerLogOptions) {
    this.standardError = options.errorLog === undefined ? standardErrorLog() : null;
    const errorLog = options.errorLog ?? jsonLineSink(this.standardError?.writer);
    this.errorLog = this.withoutThrowing(errorLog);
    // If both are the same sink, an error is written once.
    if (options.log === errorLog) this.accessLog = this.errorLog;
    else this.accessLog = options.log === undefined ? null : this.withoutThrowing(options.log);
  }

  get lost_lines(): number {
    return (
      this.lostInSinks +
      (this.standardError?.writer.lostLineCount ?? 0) +
      (this.options.lostLogLines?.() ?? 0)
    );
  }

  async close(): Promise<void> {
    await this.standardError?.close();
  }

  private withoutThrowing(sink: LogSink): LogSink {
    return (line) => {
      try {
        sink(line);
      } catch {
        this.lostInSinks += 1;
      }
    };
  }
}

/** Writes JSON lines to a stream, by default to standard output. */
export function jsonLineSink(destination?: DestinationStream): LogSink {
  const settings = {
    base: null,
    timestamp: false,
    formatters: { level: (level: string) => ({ level }) },
  } as const;
  const logger = destination === undefined ? pino(settings) : pino(settings, destination);
  // pino writes the level itself; passing it on would duplicate the key.
  return ({ level, ...line }) => logger[level](line);
}
