import { sessionIdSchema } from '../../core/ids.js';
import { sessionIdOf } from '../../core/subject.js';
import {
  emptySession,
  evolveSession,
  planProgress,
  type SessionMemory,
  sessionMemory,
  type TaskClaim,
} from '../../core/views/index.js';
import { type Caller, OPEN_CALLER } from '../caller.js';
import type { Environment } from '../environment.js';
import { HolderOperation } from '../operations/holder.js';
import { readBody } from '../operations/read.js';
import {
  CloseSessionOperation,
  OpenSessionOperation,
  type SessionRecord,
  type SessionResult,
  sessionRecord,
} from '../operations/session.js';
import { requestOf } from '../operations/shared.js';
import { isProblem, type Problem, problem, type Reply } from '../problem.js';
import type { Project } from '../project.js';
import { type Projects, reachable } from '../projects.js';
import type { History } from '../queries/history.js';
import { stateOf } from '../queries/task.js';
import { vantage } from '../queries/vantage.js';
import { releaseResult } from '../render.js';
import * as wire from '../wire.js';

/** Who works: sessions, opened and closed, and what each remembers. One session may work in many projects. */
export class Sessions {
  constructor(
    private readonly projects: Projects,
    private readonly history: History,
    private readonly environment: Environment,
  ) {}

  async open(tenant_id: string, body: unknown, caller = OPEN_CALLER): Reply<SessionResult> {
    const read = readBody(wire.sessionBody, body);
    if (isProblem(read)) return read;
    const { user_id, project_id, public_key = null } = read;
    const session_id = read.session_id ?? this.newId();
    const opening = { session_id, user_id, public_key };
    const request = requestOf(caller, 'open_session', read);
    return this.projects.in({ tenant_id, project_id }, (project) =>
      project.run(new OpenSessionOperation(opening, request)),
    );
  }

  /** Closes a session wherever it works, and releases what it holds, each claim by its own fenced release. */
  async close(tenant_id: string, session_id: string, caller = OPEN_CALLER): Reply<SessionResult> {
    if (!sessionIdSchema.safeParse(session_id).success) return noSession();
    return reachable(async () => {
      let closed: SessionResult | Problem = noSession();
      for (const project_id of await this.projects.idsOf(tenant_id)) {
        const key = { tenant_id, project_id };
        const reply = await this.projects.in(key, (project) => closeIn(project, session_id, caller));
        // Closed in some projects and not in all is not closed: repeating it finishes what is left.
        if (isProblem(reply)) return reply;
        if (reply.success) closed = reply;
      }
      return closed;
    });
  }

  async list(tenant_id: string): Reply<{ sessions: SessionRecord[] }> {
    const sessions = await this.inEach(tenant_id, async (project) => {
      const desk = project.desk();
      const ids = [...project.state.records.keys()].flatMap((subject) => sessionIdOf(subject) ?? []);
      return ids.sort().flatMap((id) => sessionRecord(desk, id) ?? []);
    });
    return isProblem(sessions) ? sessions : { sessions };
  }

  /** What a session holds. */
  async claimsOf(tenant_id: string, session_id: string): Reply<{ claims: TaskClaim[] }> {
    const found = await this.inEach(tenant_id, async (project) => {
      const desk = project.desk();
      const held = [...(project.state.bySession.get(session_id) ?? [])];
      return held.map((subject) => stateOf(desk, desk.head(subject), 0).claim);
    });
    if (isProblem(found)) return found;
    return { claims: found.filter((claim) => claim !== null && claim.state !== 'EXPIRED') as TaskClaim[] };
  }

  /** The memory of a session, folded from its events in every project where it worked. */
  async get(tenant_id: string, session_id: string): Reply<SessionMemory> {
    const session = emptySession(session_id);
    let progress = {};
    for (const project_id of await this.projects.idsOf(tenant_id)) {
      const key = { tenant_id, project_id };
      const events = await this.history.read(key, { session_id });
      if (events.length === 0) continue;
      for (const event of events) evolveSession(session, event);
      const found = await this.projects.current(
        key,
        async (project) => planProgress(project.state, vantage(project)).tracks,
      );
      if (isProblem(found)) return found;
      progress = found;
    }
    return session.created_at === null ? noSession() : sessionMemory(session, progress);
  }

  private async inEach<T>(tenant_id: string, ask: (project: Project) => Promise<T[]>): Reply<T[]> {
    const all: T[] = [];
    for (const project_id of await this.projects.idsOf(tenant_id)) {
      const found = await this.projects.current({ tenant_id, project_id }, ask);
      if (isProblem(found)) return found;
      all.push(...found);
    }
    return all;
  }

  private newId(): string {
    return `sess-${Buffer.from(this.environment.randomBytes(12)).toString('hex')}`;
  }
}

async function closeIn(project: Project, session_id: string, caller: Caller): Reply<SessionResult> {
  const closed = await project.run(new CloseSessionOperation(session_id, caller));
  if (isProblem(closed) || !closed.success) return closed;
  for (const subject of [...(project.state.bySession.get(session_id) ?? [])]) {
    const { generation } = project.desk().head(subject);
    const handle = { generation, session_id, claim_id: null };
    const command = { type: 'release', handle, reason: 'SESSION_CLOSED', message: null } as const;
    await project.run(new HolderOperation(subject, command, releaseResult));
  }
  return closed;
}

const noSession = (): Problem => problem('NOT_FOUND', 'There is no session by that id.');
