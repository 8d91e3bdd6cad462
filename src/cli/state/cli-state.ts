import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { JsonRecordFolder, recordName } from './json-record-folder.js';

/** A project at a server. State stored for one target is never used for another. */
export interface CliTarget {
  readonly url: string;
  readonly tenant: string;
  readonly project: string;
}

/** The handle that fenced calls on a claim need. */
export interface StoredHandle {
  readonly task_id: string;
  readonly generation: number;
  readonly claim_id?: string;
  readonly session_id: string;
  readonly agent_id: string;
  readonly lease_duration_seconds: number | null;
}

/**
 * State that the CLI keeps between calls. A handle is stored under the session that claimed it: an agent that lost
 * its claim must never submit with its successor's handle, even in the same folder.
 */
export class CliState {
  private readonly handles: JsonRecordFolder<StoredHandle>;
  private readonly sessions: JsonRecordFolder<{ session_id: string }>;
  private readonly projects: JsonRecordFolder<{ project: string }>;

  constructor(home: string) {
    this.handles = new JsonRecordFolder(join(home, 'handles'));
    this.sessions = new JsonRecordFolder(join(home, 'sessions'));
    this.projects = new JsonRecordFolder(join(home, 'projects'));
  }

  handle(target: CliTarget, sessionId: string, taskId: string): Promise<StoredHandle | null> {
    return this.handles.get(targetName(target, sessionId, taskId));
  }

  saveHandle(target: CliTarget, handle: StoredHandle): Promise<void> {
    return this.handles.put(targetName(target, handle.session_id, handle.task_id), handle);
  }

  removeHandle(target: CliTarget, handle: StoredHandle): Promise<void> {
    return this.handles.remove(targetName(target, handle.session_id, handle.task_id));
  }

  /** The session of an agent at a terminal, created on first use. */
  async session(target: CliTarget, agentId: string, terminal: string): Promise<string> {
    const name = targetName(target, agentId, terminal);
    const existing = await this.sessions.get(name);
    if (existing !== null) return existing.session_id;
    const fresh = { session_id: `sess-${randomBytes(8).toString('hex')}` };
    return (await this.sessions.putIfAbsent(name, fresh)).session_id;
  }

  /** Removes the stored session. The next call of `session` creates a new session. */
  removeSession(target: CliTarget, agentId: string, terminal: string): Promise<void> {
    return this.sessions.remove(targetName(target, agentId, terminal));
  }

  /** The project of the last plan that was imported from here to this server and tenant; null if there is none. */
  async project(url: string, tenant: string): Promise<string | null> {
    return (await this.projects.get(recordName(url, tenant)))?.project ?? null;
  }

  saveProject({ url, tenant, project }: CliTarget): Promise<void> {
    return this.projects.put(recordName(url, tenant), { project });
  }
}

const targetName = ({ url, tenant, project }: CliTarget, ...parts: string[]): string =>
  recordName(url, tenant, project, ...parts);
