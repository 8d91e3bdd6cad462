import { Agent, request } from 'node:http';
import type { HistoryRequest, RecordedOutcome, RecordedReplyFields } from './history.js';

const PATHS: Readonly<Record<HistoryRequest['operation'], string>> = {
  claim: '/claims',
  renew: '/claims/renew',
  release: '/claims/release',
  submit: '/results',
};

/** Timeout for a request outside the history. */
const SETUP_TIMEOUT_MS = 10 * 60_000;

/** A coordinator as a client reaches it, over plain HTTP without retries. */
export class CoordinatorEndpoint {
  private readonly connections = new Agent({ keepAlive: true });

  constructor(
    readonly name: string,
    private readonly port: number,
    private readonly projectPath: string,
  ) {}

  /** Sends one request. Without a reply within the timeout, the outcome is unknown. */
  async call(recordedRequest: HistoryRequest, timeoutMs: number): Promise<RecordedOutcome> {
    try {
      const { status, text } = await this.send(
        'POST',
        PATHS[recordedRequest.operation],
        bodyOf(recordedRequest),
        timeoutMs,
      );
      return outcomeOfReply(recordedRequest, status, JSON.parse(text) as WireReplyFields);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code ?? message;
      return { kind: code === 'ECONNREFUSED' ? 'no_effect' : 'unknown', why };
    }
  }

  /** Sends a request outside the history. Throws unless it succeeds. */
  async put(path: string, body: object): Promise<void> {
    const response = await this.send('PUT', path, body, SETUP_TIMEOUT_MS);
    if (response.status !== 200) throw new Error(`PUT ${path} failed: ${response.text}`);
  }

  close(): void {
    this.connections.destroy();
  }

  private send(
    method: string,
    path: string,
    body: object,
    timeoutMs: number,
  ): Promise<{ status: number; text: string }> {
    const { connections: agent, port } = this;
    const bodyText = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bodyText) };
    const options = { host: '127.0.0.1', port, method, path: `${this.projectPath}${path}`, headers, agent };
    return new Promise((resolve, reject) => {
      const clientRequest = request(options, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          clearTimeout(timer);
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() });
        });
      });
      const timer = setTimeout(() => clientRequest.destroy(new Error('the request timed out')), timeoutMs);
      clientRequest.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      clientRequest.end(bodyText);
    });
  }
}

function bodyOf(recordedRequest: HistoryRequest): object {
  const {
    operation,
    request_id,
    subject: task_id,
    agent_id,
    session_id,
    generation,
    claim_id,
  } = recordedRequest;
  const lease =
    recordedRequest.lease_seconds === null ? {} : { lease_duration_seconds: recordedRequest.lease_seconds };
  const resume = recordedRequest.resume === true ? { resume: true } : {};
  if (operation === 'claim') return { task_id, agent_id, session_id, ...lease, ...resume, request_id };
  const handle = { task_id, session_id, claim_id, request_id };
  if (operation === 'submit') return { ...handle, generation, result_data: resultData(request_id) };
  return { ...handle, expected_generation: generation, ...lease };
}

/** The result that a client submits; no two requests submit the same one. */
export const resultData = (requestId: string): object => ({ made_by: requestId });

/** The fields of replies that are evaluated. */
interface WireReplyFields {
  readonly success?: boolean;
  readonly accepted?: boolean;
  readonly reason?: string;
  readonly code?: string;
  readonly detail?: string;
  readonly claim?: { generation: number; id: string; expires_at: string | null } | null;
  readonly new_expiry?: string | null;
  readonly resumed?: boolean;
  readonly current_holder?: string | null;
  readonly expires_at?: string | null;
  readonly current_generation?: number;
  readonly limit?: string;
}

/**
 * Problems after which the command certainly has no effect. Any other code except UNKNOWN is a refusal, which the rules
 * must justify.
 */
const NO_EFFECT_CODES: ReadonlySet<string> = new Set(['UNAVAILABLE', 'LOG_DAMAGED', 'TIMEOUT']);

function outcomeOfReply(
  { operation }: HistoryRequest,
  status: number,
  reply: WireReplyFields,
): RecordedOutcome {
  const { code, detail = '', reason = '' } = reply;
  if (code !== undefined) {
    const why = `${status} ${code}: ${detail}`;
    if (NO_EFFECT_CODES.has(code)) return { kind: 'no_effect', why };
    return code === 'UNKNOWN'
      ? { kind: 'unknown', why }
      : { kind: 'refused', reason: code, reply_fields: {} };
  }
  if (reply.success === true || reply.accepted === true)
    return { kind: 'ok', reply_fields: fieldsOnSuccess(reply) };
  return { kind: 'refused', reason, reply_fields: fieldsOnRefusal(operation, reply) };
}

function fieldsOnSuccess({ claim, new_expiry, resumed }: WireReplyFields): RecordedReplyFields {
  if (claim != null) {
    const { generation, id: claim_id, expires_at } = claim;
    return { generation, claim_id, expires_at, ...(resumed === true ? { resumed } : {}) };
  }
  return new_expiry === undefined ? {} : { expires_at: new_expiry };
}

function fieldsOnRefusal(
  operation: HistoryRequest['operation'],
  reply: WireReplyFields,
): RecordedReplyFields {
  const { current_generation, current_holder, expires_at, limit } = reply;
  return {
    ...(operation === 'submit' && current_generation !== undefined ? { generation: current_generation } : {}),
    ...(operation === 'claim' && current_holder !== undefined ? { holder: current_holder } : {}),
    ...(expires_at === undefined ? {} : { expires_at }),
    ...(limit === undefined ? {} : { limit }),
  };
}
