import type { KeyObject } from 'node:crypto';
import type { SignedCommand } from '../core/signing.js';
import { withoutUndefined } from '../core/without-undefined.js';
import { Http, type HttpOptions, type HttpRequest, newRequestId } from './http.js';
import type { ReplyPromise } from './requests.js';
import { publicKeyText, signCommand } from './sign-command.js';

export interface ApiClientOptions extends Partial<HttpOptions> {
  /** Default: GENESIS_URL, then the local server. */
  readonly url?: string;
  /** Default: GENESIS_TOKEN. */
  readonly token?: string;
  /** Default: GENESIS_TENANT, then `default`. */
  readonly tenant?: string;
  /** Default: GENESIS_PROJECT. */
  readonly project?: string;
  /** Ed25519 key that signs the session's commands. The session must be opened with `public_key`. */
  readonly signing_key?: KeyObject;
  /** Loads the key when the server first refuses an unsigned command. All later commands are signed with it. */
  readonly find_signing_key?: () => Promise<KeyObject>;
}

const DEFAULT_URL = 'http://127.0.0.1:4680';

/** One project on a server: builds the paths of its API, signs commands and sends requests. */
export class ProjectEndpoint {
  readonly url: string;
  readonly tenant: string;
  readonly project: string;
  protected readonly http: Http;
  private signingKey: KeyObject | null;

  constructor(private readonly options: ApiClientOptions = {}) {
    const { env } = process;
    const project = options.project ?? env.GENESIS_PROJECT;
    if (project === undefined) {
      throw new TypeError('No project is set. Pass options.project, or set GENESIS_PROJECT.');
    }
    this.url = options.url ?? env.GENESIS_URL ?? DEFAULT_URL;
    if (!URL.canParse(this.url)) {
      throw new TypeError(`${this.url} is not a valid URL. Pass options.url, or set GENESIS_URL.`);
    }
    this.tenant = options.tenant ?? env.GENESIS_TENANT ?? 'default';
    this.project = project;
    this.signingKey = options.signing_key ?? null;
    const token = options.token ?? env.GENESIS_TOKEN;
    this.http = new Http({ ...options, url: this.url, ...withoutUndefined({ token }) });
  }

  /** The public key to open a session with: the server verifies the session's signatures with it. Null without a key. */
  get public_key(): string | null {
    return this.signingKey === null ? null : publicKeyText(this.signingKey);
  }

  protected withSignature(command: SignedCommand, request: object): Record<string, unknown> {
    const body: Record<string, unknown> = withRequestId(request);
    if (this.signingKey === null) return body;
    const commandToSign = { tenant_id: this.tenant, project_id: this.project, command, body };
    return { ...body, signature: signCommand(commandToSign, this.signingKey) };
  }

  /** Loads the signing key unless it is loaded already. False if there is no key. */
  protected async loadSigningKey(): Promise<boolean> {
    this.signingKey ??= (await this.options.find_signing_key?.()) ?? null;
    return this.signingKey !== null;
  }

  /** Options that recreate this client in another thread, independent of that thread's environment. */
  protected resolvedOptions(): ApiClientOptions {
    const { tenant, project } = this;
    // A function cannot be passed to another thread, and the other thread does not need it.
    const { find_signing_key: _, signing_key: __, ...options } = this.options;
    const signing = this.signingKey === null ? {} : { signing_key: this.signingKey };
    return { ...options, ...this.http.options, tenant, project, ...signing };
  }

  protected command<T>(path: string, body: object, options: HttpCallOptions = {}): ReplyPromise<T> {
    return this.http.json({
      method: 'POST',
      path: this.projectPath(path),
      body: withRequestId(body),
      ...options,
    });
  }

  /** Sends many commands in one request. `bodyTexts`: their bodies, already encoded as JSON. */
  protected batchCommand<T>(path: string, listName: string, bodyTexts: readonly string[]): ReplyPromise<T> {
    const body = `{"request_id":"${newRequestId()}","${listName}":[${bodyTexts.join(',')}]}`;
    return this.http.json({
      method: 'POST',
      path: this.projectPath(path),
      body,
      content_type: 'application/json',
    });
  }

  protected read<T>(path: string, query: Record<string, string | number | undefined> = {}): ReplyPromise<T> {
    return this.http.json({ method: 'GET', path, query });
  }

  protected tenantPath(subpath: string): string {
    return `/api/tenants/${encodeURIComponent(this.tenant)}${subpath}`;
  }

  protected projectPath(subpath: string): string {
    return this.tenantPath(`/projects/${encodeURIComponent(this.project)}${subpath}`);
  }

  protected taskPath(taskId: string, subpath = ''): string {
    return this.projectPath(`/tasks/${encodeURIComponent(taskId)}${subpath}`);
  }

  protected sessionPath(sessionId: string): string {
    return this.tenantPath(`/sessions/${encodeURIComponent(sessionId)}`);
  }
}

type HttpCallOptions = Pick<HttpRequest, 'wait_seconds' | 'timeout_seconds' | 'tries' | 'signal'>;

/** Adds a request id before the first attempt. All retries keep it, which makes them the same request. */
export const withRequestId = <T extends object>(body: T) => ({
  request_id: newRequestId(),
  ...withoutUndefined(body),
});

export const withEnvSession = <T extends { session_id?: string }>(body: T) => ({
  session_id: process.env.GENESIS_SESSION,
  ...withoutUndefined(body),
});

export const withEnvAgent = <T extends { agent_id?: string; session_id?: string }>(body: T) => ({
  agent_id: process.env.GENESIS_AGENT,
  ...withEnvSession(body),
});
