import { STATUS_CODES } from 'node:http';
import type { HttpResponse } from './response.js';

/** A response that is sent as one text. */
export type TextResponse = HttpResponse & { readonly body: string };

/** Writes responses as Node's HTTP server does, with the same headers in the same order, but in one piece. */
export class ResponseTexts {
  /** The encoded heads by headers and status. Most objects of headers are constants of `response.ts`. */
  private readonly heads = new WeakMap<object, Map<number, string>>();
  private readonly keptAlive: string;
  private date = '';
  private dateSecond = 0;

  constructor(keepAliveMs: number) {
    this.keptAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`;
  }

  /** `bodyBytes`: the length of the body in UTF-8. */
  text({ status, headers, body }: TextResponse, bodyBytes: number, isKeptAlive: boolean): string {
    const connection =
      headers.connection !== undefined ? '' : isKeptAlive ? this.keptAlive : 'Connection: close\r\n';
    return `${this.headOf(headers, status)}content-length: ${bodyBytes}\r\n${this.dateLine()}${connection}\r\n${body}`;
  }

  private headOf(headers: Readonly<Record<string, string>>, status: number): string {
    let byStatus = this.heads.get(headers);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.heads.set(headers, byStatus);
    }
    let head = byStatus.get(status);
    if (head === undefined) {
      head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
      for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
      byStatus.set(status, head);
    }
    return head;
  }

  /** The `Date` header, which is built once a second. */
  private dateLine(): string {
    const nowMs = Date.now();
    const second = Math.floor(nowMs / 1000);
    if (second !== this.dateSecond) {
      this.dateSecond = second;
      this.date = `Date: ${new Date(nowMs).toUTCString()}\r\n`;
    }
    return this.date;
  }
}
