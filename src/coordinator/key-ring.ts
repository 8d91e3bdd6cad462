import type { KeyRecord } from '../core/events/record-events.js';
import { keySubject, PLATFORM_TENANT } from '../core/subject.js';
import { belongs, type KeyScope, keyOf } from './operations/keys.js';
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

  /** Whether a key was ever made. One that has run out or was revoked still counts: the door it closed stays closed. */
  get any(): boolean {
    for (const subject of this.project.state.records.keys()) if (subject.startsWith(PREFIX)) return true;
    return false;
  }

  /** The key, and the digest that its secret must have. */
  find(key_id: string): { key: Key; secret_sha256: string } | null {
    const record = this.project.state.records.get(keySubject(key_id))?.value as KeyRecord | undefined;
    if (record === undefined) return null;
    return { key: keyOf(key_id, record, this.project.now()), secret_sha256: record.secret_sha256 };
  }

  /** Those of the scope, in the order they were made. */
  list(scope: KeyScope): Key[] {
    const keys: Key[] = [];
    for (const [subject, { value }] of this.project.state.records) {
      if (!subject.startsWith(PREFIX)) continue;
      const record = value as KeyRecord;
      if (belongs(record, scope)) keys.push(keyOf(subject.slice(PREFIX.length), record, this.project.now()));
    }
    return keys.sort((a, b) => (a.created_at + a.key_id < b.created_at + b.key_id ? -1 : 1));
  }
}
