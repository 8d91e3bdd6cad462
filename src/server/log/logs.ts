import { jsonLineSink, type LogSink } from '../auth/access-log.js';
import { type LogFile, standardErrorLog } from './log-file.js';

export interface LogOptions {
  /** Takes a line for every request, and one for every error. */
  readonly log?: LogSink;
  /** Takes a line for every error, also where there is no `log`. Standard error unless given. */
  readonly errorLog?: LogSink;
  /** How many lines `log` and `errorLog` took and could not write so far, for the metrics. */
  readonly lostLogLines?: () => number;
}

/** The logs of a server: none of them can throw, and what they lose is counted. */
export class ServerLogs {
  readonly log: LogSink | null;
  readonly errorLog: LogSink;
  private lostInSinks = 0;
  private readonly standardError: LogFile | null;

  constructor(private readonly options: LogOptions) {
    this.standardError = options.errorLog === undefined ? standardErrorLog() : null;
    const errorLog = options.errorLog ?? jsonLineSink(this.standardError?.writer);
    this.errorLog = this.neverThrowing(errorLog);
    // One sink for both stays one: an error is written to it once.
    if (options.log === errorLog) this.log = this.errorLog;
    else this.log = options.log === undefined ? null : this.neverThrowing(options.log);
  }

  get lost_lines(): number {
    return (
      this.lostInSinks + (this.standardError?.writer.lost_lines ?? 0) + (this.options.lostLogLines?.() ?? 0)
    );
  }

  async close(): Promise<void> {
    await this.standardError?.close();
  }

  private neverThrowing(sink: LogSink): LogSink {
    return (line) => {
      try {
        sink(line);
      } catch {
        this.lostInSinks += 1;
      }
    };
  }
}
