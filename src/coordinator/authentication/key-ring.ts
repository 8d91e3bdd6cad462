import type { ApiKey } from '../../core/contract/keys.js';
import { msOf } from '../../core/events/envelope.js';
import type { KeyRecord } from '../../core/events/record-events.js';
import { KEY_BINDING_SUBJECT, keySubject, PLATFORM_TENANT } from '../../core/subject.js';
import type { WorkState } from '../../core/views/index.js';
import {
  apiKeyOf,
  isInScope,
  KEY_SUBJECT_PREFIX,
  type KeyScope,
  type KeyTrustCheck,
} from '../operations/keys.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import { isBound } from './key-binding.js';

/**
 * The API keys of all tenants and of the platform's operators. This coordinator's own changes are visible at once, those
 * of others after a poll.
 */
export class KeyRing {
  /** The answer of `hasAnyKey`, and the state and position for which it holds: a server in open mode asks with every request. */
  private checked: {
    readonly state: WorkState;
    readonly position: number;
    readonly hasAnyKey: boolean;
  } | null = null;

  private constructor(readonly project: Project) {}

  static async open(projects: Projects): Promise<KeyRing> {
    const { project } = await projects.keepTenantLimits(PLATFORM_TENANT);
    return new KeyRing(project);
  }

  /**
   * Whether any key record exists, even if the key is expired, revoked or unbound: neither time nor a foreign record may
   * turn a server that requires keys into an open one.
   */
  get hasAnyKey(): boolean {
    const { state } = this.project;
    if (this.checked?.state !== state || this.checked.position !== state.position)
      this.checked = { state, position: state.position, hasAnyKey: !this.records().next().done };
    return this.checked.hasAnyKey;
  }

  /** The key, and the expected SHA-256 of its secret. */
  find(keyId: string): { key: ApiKey; secret_sha256: string } | null {
    const record = this.project.state.records.get(keySubject(keyId))?.value as KeyRecord | undefined;
    if (record === undefined) return null;
    return { key: this.toApiKey(keyId, record), secret_sha256: record.secret_sha256 };
  }

  isActive(keyId: string): boolean {
    return this.find(keyId)?.key.state === 'active';
  }

  /** Milliseconds until the key expires by the store's clock; null if it never expires or does not exist. */
  expiresInMs(keyId: string): number | null {
    const expiresAt = this.find(keyId)?.key.expires_at ?? null;
    return expiresAt === null ? null : msOf(expiresAt) - this.project.now();
  }

  /** Calls `listener` when the platform's project changes, here or elsewhere. Returns a function that removes it. */
  onChange(listener: () => void): () => void {
    return this.project.changeNotifier.on(listener);
  }

  /** Keys within the scope, in order of creation. */
  list(scope: KeyScope): ApiKey[] {
    return this.filterKeys((_, record) => isInScope(record, scope));
  }

  /** Keys that are rejected only because they are not bound to this store. */
  rejectedKeys(): ApiKey[] {
    return this.filterKeys(({ state }) => state === 'unbound');
  }

  /** Keys from before key binding, which work until `gen migrate` has run. */
  legacyUnboundKeys(): ApiKey[] {
    return this.filterKeys(({ state }, { binding }) => binding === undefined && state === 'active');
  }

  /** The only place that decides whether a key record grants anything in this store. */
  readonly isTrusted: KeyTrustCheck = (keyId, record) => {
    const { untrusted_files } = this.project.store.capabilities;
    if (untrusted_files === 'secret') return false;
    if (record.binding !== undefined) return isBound(this.project.meta, keyId, record);
    return untrusted_files === undefined && !this.project.state.records.has(KEY_BINDING_SUBJECT);
  };

  private toApiKey(keyId: string, record: KeyRecord): ApiKey {
    return apiKeyOf(keyId, record, this.project.now(), this.isTrusted(keyId, record));
  }

  private filterKeys(matches: (key: ApiKey, record: KeyRecord) => boolean): ApiKey[] {
    const keys: ApiKey[] = [];
    for (const [keyId, record] of this.records()) {
      const key = this.toApiKey(keyId, record);
      if (matches(key, record)) keys.push(key);
    }
    return keys.sort((a, b) => (a.created_at + a.key_id < b.created_at + b.key_id ? -1 : 1));
  }

  private *records(): Generator<[string, KeyRecord]> {
    for (const [subject, { value }] of this.project.state.records) {
      if (subject.startsWith(KEY_SUBJECT_PREFIX))
        yield [subject.slice(KEY_SUBJECT_PREFIX.length), value as KeyRecord];
    }
  }
}
