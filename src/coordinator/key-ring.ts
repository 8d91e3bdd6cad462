import { msOf } from '../core/events/envelope.js';
import type { KeyRecord } from '../core/events/record-events.js';
import { KEY_BINDING_SUBJECT, keySubject, PLATFORM_TENANT } from '../core/subject.js';
import { isBound } from './key-binding.js';
import { apiKeyOf, isInScope, type KeyScope, type KeyTrustCheck } from './operations/keys.js';
import type { Project } from './project.js';
import type { Projects } from './projects.js';
import type { ApiKey } from './wire.js';

const KEY_SUBJECT_PREFIX = keySubject('');

/** The keys of the platform as this coordinator knows them: its own changes at once, others' as it follows the store. */
export class KeyRing {
  private constructor(readonly project: Project) {}

  static async open(projects: Projects): Promise<KeyRing> {
    const { project } = await projects.tenantLimits(PLATFORM_TENANT);
    return new KeyRing(project);
  }

  /**
   * Whether there is a key record. One that has expired, was revoked or is not bound to this store counts too: it keeps
   * the server closed, so that neither time nor a record from elsewhere can open it.
   */
  get hasAnyKey(): boolean {
    return !this.records().next().done;
  }

  /** The key, and the digest that its secret must have. */
  find(keyId: string): { key: ApiKey; secret_sha256: string } | null {
    const record = this.project.state.records.get(keySubject(keyId))?.value as KeyRecord | undefined;
    if (record === undefined) return null;
    return { key: this.toApiKey(keyId, record), secret_sha256: record.secret_sha256 };
  }

  isActive(keyId: string): boolean {
    return this.find(keyId)?.key.state === 'active';
  }

  /** Milliseconds until the key expires, by the store's clock; null: it never does, or there is no such key. */
  expiresInMs(keyId: string): number | null {
    const expiresAt = this.find(keyId)?.key.expires_at ?? null;
    return expiresAt === null ? null : msOf(expiresAt) - this.project.now();
  }

  /** Calls `listener` whenever keys were made or revoked, here or by others. Returns a function that stops it. */
  onChange(listener: () => void): () => void {
    let stop: () => void;
    const onNotify = (): void => {
      stop = this.project.changeNotifier.once(onNotify);
      listener();
    };
    stop = this.project.changeNotifier.once(onNotify);
    return () => stop();
  }

  /** Those of the scope, in the order they were made. */
  list(scope: KeyScope): ApiKey[] {
    return this.filterKeys((_, record) => isInScope(record, scope));
  }

  /** Keys that would work if they were bound to this store, and do not. */
  rejectedKeys(): ApiKey[] {
    return this.filterKeys((keyId, record) => this.toApiKey(keyId, record).state === 'unbound');
  }

  /** Keys from before keys were bound, which work until `gen migrate` has run. */
  legacyUnboundKeys(): ApiKey[] {
    return this.filterKeys(
      (keyId, record) => record.binding === undefined && this.toApiKey(keyId, record).state === 'active',
    );
  }

  /** Decides whether a key record grants anything here; no other code does. */
  readonly isTrusted: KeyTrustCheck = (keyId, record) => {
    const { untrusted_files } = this.project.store.capabilities;
    if (untrusted_files === 'secret') return false;
    if (record.binding !== undefined) return isBound(this.project.meta, keyId, record);
    return untrusted_files === undefined && !this.project.state.records.has(KEY_BINDING_SUBJECT);
  };

  private toApiKey(keyId: string, record: KeyRecord): ApiKey {
    return apiKeyOf(keyId, record, this.project.now(), this.isTrusted(keyId, record));
  }

  private filterKeys(matches: (keyId: string, record: KeyRecord) => boolean): ApiKey[] {
    const keys: ApiKey[] = [];
    for (const [keyId, record] of this.records()) {
      if (matches(keyId, record)) keys.push(this.toApiKey(keyId, record));
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
