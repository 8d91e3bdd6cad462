import type { ProjectKey } from '../store.js';

/** The prefix of an index value, by the field of an event. */
export const INDEX_PREFIX = {
  event_type: 'type:',
  subject: 'subject:',
  task_id: 'task:',
  feature_id: 'feature:',
  edge: 'edge:',
  agent_id: 'agent:',
  session_id: 'session:',
} as const;

export const INDEXED_FIELDS = Object.keys(INDEX_PREFIX) as (keyof typeof INDEX_PREFIX)[];

/**
 * The names of all keys. Those of one tenant share its hash tag, so that one script may use them on a cluster. Names
 * from outside come last or are escaped: no two can produce the same key.
 */
export class RedisKeys {
  constructor(private readonly namespace: string) {}

  /** Hash: version, secret, incarnation, lineage. */
  get meta(): string {
    return `${this.namespace}:meta`;
  }

  /** Hash: the latest time reported. Every other key of the tenant begins with this one and a colon. */
  tenant(tenantId: string): string {
    return `${this.namespace}:{${encodeURIComponent(tenantId)}}`;
  }

  /** String, for some minutes: the outcomes of a batch. */
  batch(tenantId: string, batchId: string): string {
    return `${this.tenant(tenantId)}:batch:${batchId}`;
  }

  /** Set of names. */
  projects(tenantId: string): string {
    return `${this.tenant(tenantId)}:projects`;
  }

  /** Sorted set: project and member, scored by the expiry of the permit. */
  permits(tenantId: string, scope: string): string {
    return `${this.tenant(tenantId)}:slots:${scope}`;
  }

  /** String. */
  blob(tenantId: string, sha256: string): string {
    return `${this.tenant(tenantId)}:blob:${sha256}`;
  }

  /** Hash: position, rules_seq. Every other key of the project begins with this one and a colon. */
  project({ tenant_id, project_id }: ProjectKey): string {
    return `${this.tenant(tenant_id)}:p:${encodeURIComponent(project_id)}`;
  }

  /** Hash: subject to seq and head. */
  heads(projectKey: ProjectKey): string {
    return `${this.project(projectKey)}:heads`;
  }

  /** Hash: position to event. */
  events(projectKey: ProjectKey): string {
    return `${this.project(projectKey)}:events`;
  }
}
