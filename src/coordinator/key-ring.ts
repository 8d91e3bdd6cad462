import { msOf } from '../core/events/envelope.js';
import type { KeyRecord } from '../core/events/record-events.js';
import { KEY_BINDING_SUBJECT, keySubject, PLATFORM_TENANT } from '../core/subject.js';
import { isBound } from './key-binding.js';
import { belongs, type IsTrustedKey, type KeyScope, keyOf } from './operations/keys.js';
import type { Project } from './project.js';
import type { Projects } from './projects.js';
import type { Key } from './wire.js';

const PREFIX = keySubject('');

/** The keys of the platform as this coordinator knows them: its own changes at once, others' as it follows the store. */
export class KeyRing {
  private constructor(readonly project: Project) {}

  static async open(projects: Projects): Promise<KeyRing> {
    const { project } = await projects.tenant(PLATFORM_TENANT);
    return new KeyRing(project);
  }

  /**
   * Whether there is a key record. One that has expired, was revoked or is not bound to this store counts too: it keeps
   * the server closed, so that neither time nor a record from elsewhere can open it.
   */
  get any(): boolean {
    return !this.records().next().done;
  }

  /** The key, and the digest that its secret must have. */
  find(key_id: string): { key: Key; secret_sha256: string } | null {
    const record = this.project.state.records.get(keySubject(key_id))?.value as KeyRecord | undefined;
    if (record === undefined) return null;
    return { key: this.shown(key_id, record), secret_sha256: record.secret_sha256 };
  }

  isActive(key_id: string): boolean {
    return this.find(key_id)?.key.state === 'active';
  }

  /** Milliseconds until the key expires, by the store's clock; null: it never does, or there is no such key. */
  expiresInMs(key_id: string): number | null {
    const expires_at = this.find(key_id)?.key.expires_at ?? null;
    return expires_at === null ? null : msOf(expires_at) - this.project.now();
  }

  /** Calls `listener` whenever keys were made or revoked, here or by others. Returns a function that stops it. */
  onChange(listener: () => void): () => void {
    let stop: () => void;
    const again = (): void => {
      stop = this.project.moved.once(again);
      listener();
    };
    stop = this.project.moved.once(again);
    return () => stop();
  }

  /** Those of the scope, in the order they were made. */
  list(scope: KeyScope): Key[] {
    return this.keys((_, record) => belongs(record, scope));
  }

  /** Keys that would work if they were bound to this store, and do not. */
  refused(): Key[] {
    return this.keys((key_id, record) => this.shown(key_id, record).state === 'unbound');
  }

  /** Keys from before keys were bound, which work until `gen migrate` has run. */
  unbound(): Key[] {
    return this.keys(
      (key_id, record) => record.binding === undefined && this.shown(key_id, record).state === 'active',
    );
  }

  /** Decides whether a key record grants anything here; no other code does. */
  readonly isTrusted: IsTrustedKey = (key_id, record) => {
    const { untrusted_files } = this.project.store.capabilities;
    if (untrusted_files === 'secret') return false;
    if (record.binding !== undefined) return isBound(this.project.meta, key_id, record);
    return untrusted_files === undefined && !this.project.state.records.has(KEY_BINDING_SUBJECT);
  };

  private shown(key_id: string, record: KeyRecord): Key {
    return keyOf(key_id, record, this.project.now(), this.isTrusted(key_id, record));
  }

  private keys(isWanted: (key_id: string, record: KeyRecord) => boolean): Key[] {
    const keys: Key[] = [];
    for (const [key_id, record] of this.records()) {
      if (isWanted(key_id, record)) keys.push(this.shown(key_id, record));
    }
    return keys.sort((a, b) => (a.created_at + a.key_id < b.created_at + b.key_id ? -1 : 1));
  }

  private *records(): Generator<[string, KeyRecord]> {
    for (const [subject, { value }] of this.project.state.records) {
      if (subject.startsWith(PREFIX)) yield [subject.slice(PREFIX.length), value as KeyRecord];
    }
  }
}
