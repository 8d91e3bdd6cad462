import type { NewEvent } from '../../core/events/envelope.js';
import type { ProjectKey } from '../store.js';

/** The prefix of a name in the index of events, by the field of an event. */
export const INDEX_PREFIX = {
  event_type: 'type:',
  subject: 'subject:',
  task_id: 'task:',
  feature_id: 'feature:',
  edge: 'edge:',
  agent_id: 'agent:',
  session_id: 'session:',
} as const;

/** The events that have moved a head are listed with the head, and not under their subject. */
export const HEAD_PREFIX = 'head:';

type IndexField = keyof typeof INDEX_PREFIX;
const INDEXED_FIELDS = Object.keys(INDEX_PREFIX) as IndexField[];

/** Calls back with the fields by which an event is indexed. */
export function forEachIndexed(event: NewEvent, visit: (field: IndexField, value: string) => void): void {
  for (const field of INDEXED_FIELDS) {
    const value = event[field];
    if (value === undefined) continue;
    // An event that is found by its subject is not indexed again by an equal task.
    if (field === 'task_id' && value === event.subject) continue;
    if (field === 'subject' && event.seq !== undefined) continue;
    visit(field, value);
  }
}

/**
 * The names of all keys. Those of one tenant share its hash tag, so that one script may use them on a cluster. Names
 * from outside come last or are escaped: no two can produce the same key.
 */
export class RedisKeys {
  constructor(private readonly namespace: string) {}

  /** Hash: version, secret, incarnation, lineage (the replication id of the server). */
  get meta(): string {
    return `${this.namespace}:meta`;
  }

  /** Set of names: every tenant that was written to since this set was introduced. */
  get tenants(): string {
    return `${this.namespace}:tenants`;
  }

  /** Hash: the time of the latest commit. Every other key of the tenant begins with this one and a colon. */
  tenant(tenantId: string): string {
    return `${this.namespace}:{${encodeURIComponent(tenantId)}}`;
  }

  /** String, for some minutes: the outcomes of a batch. */
  batch(tenantId: string, batchId: string): string {
    return `${this.tenant(tenantId)}:batch:${batchId}`;
  }

  /** Set: the names of the tenant's projects. */
  projects(tenantId: string): string {
    return `${this.tenant(tenantId)}:projects`;
  }

  /** Sorted set: the projects that hold permits on heads, by how many. */
  held(tenantId: string): string {
    return `${this.tenant(tenantId)}:held`;
  }

  /** String: the bytes of a blob, after one byte. */
  blob(tenantId: string, sha256: string): string {
    return `${this.tenant(tenantId)}:blob:${sha256}`;
  }

  /** Hash: position, rules_seq. Every other key of the project begins with this one and a colon. */
  project({ tenant_id, project_id }: ProjectKey): string {
    return `${this.tenant(tenant_id)}:project:${encodeURIComponent(project_id)}`;
  }

  /** Hash: subject to head. */
  heads(projectKey: ProjectKey): string {
    return `${this.project(projectKey)}:heads`;
  }
}
