import { parentPort } from 'node:worker_threads';
import { parseReport, type ReportFormat } from './parse-report.js';

interface ReportJob {
  readonly format: ReportFormat;
  readonly bytes: Uint8Array;
}

/** Worker thread that parses one report. */
if (parentPort !== null) {
  const port = parentPort;
  port.once('message', ({ format, bytes }: ReportJob) => port.postMessage(parseReport(format, bytes)));
  port.postMessage('ready');
}
