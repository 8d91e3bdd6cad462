import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Drawer } from './folder.js';

/** Where work is done: nothing remembered of one place is ever used in another. */
export interface Place {
  readonly url: string;
  readonly tenant: string;
  readonly project: string;
}

/** What its holder must show to go on with a piece of work. */
export interface Handle {
  readonly task_id: string;
  readonly generation: number;
  readonly claim_id?: string;
  readonly session_id: string;
  readonly agent_id: string;
  readonly lease_duration_seconds: number | null;
}

/**
 * What the CLI remembers between two calls. A handle is found by the session that took it: an agent that lost its
 * work must never submit under the handle of the one that has it now, though both sit in the same folder.
 */
export class Memory {
  private readonly handles: Drawer<Handle>;
  private readonly sessions: Drawer<{ session_id: string }>;
  private readonly projects: Drawer<{ project: string }>;

  constructor(home: string) {
    this.handles = new Drawer(join(home, 'handles'));
    this.sessions = new Drawer(join(home, 'sessions'));
    this.projects = new Drawer(join(home, 'projects'));
  }

  handle(place: Place, session_id: string, task_id: string): Promise<Handle | null> {
    return this.handles.get(handleName(place, session_id, task_id));
  }

  keepHandle(place: Place, handle: Handle): Promise<void> {
    return this.handles.put(handleName(place, handle.session_id, handle.task_id), handle);
  }

  forgetHandle(place: Place, handle: Handle): Promise<void> {
    return this.handles.remove(handleName(place, handle.session_id, handle.task_id));
  }

  /** The session of an agent at a terminal, made when it is first asked for. */
  async session(place: Place, agent_id: string, terminal: string): Promise<string> {
    const name = nameOf(place, agent_id, terminal);
    const known = await this.sessions.get(name);
    if (known !== null) return known.session_id;
    const fresh = { session_id: `sess-${randomBytes(8).toString('hex')}` };
    return (await this.sessions.putFirst(name, fresh)).session_id;
  }

  /** The next question for it begins a new one. */
  forgetSession(place: Place, agent_id: string, terminal: string): Promise<void> {
    return this.sessions.remove(nameOf(place, agent_id, terminal));
  }

  /** The project of the plan that was last imported from here. */
  async project(url: string, tenant: string): Promise<string | null> {
    return (await this.projects.get(digestOf([url, tenant])))?.project ?? null;
  }

  keepProject({ url, tenant, project }: Place): Promise<void> {
    return this.projects.put(digestOf([url, tenant]), { project });
  }
}

const handleName = (place: Place, session_id: string, task_id: string): string =>
  nameOf(place, session_id, task_id);

const nameOf = ({ url, tenant, project }: Place, ...rest: string[]): string =>
  digestOf([url, tenant, project, ...rest]);

const digestOf = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
