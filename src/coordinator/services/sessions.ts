import { sessionIdSchema } from '../../core/ids.js';
import { opensSessionFor } from '../../core/sessions.js';
import { sessionIdOf } from '../../core/subject.js';
import {
  emptySession,
  evolveSession,
  progressSteps,
  type SessionMemory,
  sessionMemory,
  type TaskClaim,
} from '../../core/views/index.js';
import { type Caller, OPEN_CALLER } from '../caller.js';
import type { Desk } from '../desk.js';
import type { Environment } from '../environment.js';
import { inSlices } from '../in-slices.js';
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
import { firstNames, limitOf, type PageQuery } from '../queries/page.js';
import type { ReadTurns } from '../queries/read-turns.js';
import { stateOf } from '../queries/task.js';
import { vantage } from '../queries/vantage.js';
import { releaseResult } from '../render.js';
import * as wire from '../wire.js';

/** Who works: sessions, opened and closed, and what each remembers. One session may work in many projects. */
export class Sessions {
  constructor(
    private readonly projects: Projects,
    private readonly history: History,
    private readonly turns: ReadTurns,
    private readonly environment: Environment,
  ) {}

  async open(tenant_id: string, body: unknown, caller = OPEN_CALLER): Reply<SessionResult> {
    const read = readBody(wire.sessionBody, body);
    if (isProblem(read)) return read;
    const { user_id = caller.user_id, project_id, public_key = null } = read;
    if (!opensSessionFor(user_id, caller)) return notThatUser(caller);
    const session_id = read.session_id ?? this.newId();
    const opening = { session_id, user_id, public_key };
    const request = requestOf(caller, 'open_session', read);
    return this.projects.in({ tenant_id, project_id }, (project) =>
      project.run(new OpenSessionOperation(opening, caller, request), caller),
    );
  }

  /**
   * Closes a session wherever it works, and releases what it holds, each claim by its own fenced release. In another
   * project the same id may be someone else's session: that one stays open, and keeps nobody from closing their own.
   */
  async close(tenant_id: string, session_id: string, caller = OPEN_CALLER): Reply<SessionResult> {
    if (!sessionIdSchema.safeParse(session_id).success) return noSession();
    return reachable(async () => {
      let closed: SessionResult | null = null;
      let forbidden: Problem | null = null;
      for (const project_id of await this.projects.idsOf(tenant_id)) {
        const key = { tenant_id, project_id };
        const reply = await this.projects.in(key, (project) => closeIn(project, session_id, caller));
        // Closed in some projects and not in all is not closed: repeating it finishes what is left.
        if (!isProblem(reply)) closed = reply.success ? reply : closed;
        else if (reply.problem === 'FORBIDDEN') forbidden = reply;
        else return reply;
      }
      return closed ?? forbidden ?? noSession();
    });
  }

  /** In the order of projects, then of session ids. */
  list(tenant_id: string, query: PageQuery = {}): Reply<{ sessions: SessionRecord[]; next: string | null }> {
    return this.turns.take(tenant_id, async () => {
      const page = await this.pageIn(tenant_id, query, async (project, after, count) => {
        const ids = await inSlices(firstNames(sessionIds(project), after, count), this.environment);
        const desk = project.desk();
        return ids.flatMap((id) => sessionRecord(desk, id) ?? []);
      });
      if (isProblem(page)) return page;
      const { items: sessions, hasMore } = page;
      const last = sessions.at(-1);
      return { sessions, next: hasMore && last ? `${last.project_id}/${last.session_id}` : null };
    });
  }

  /** What a session holds, in the order of projects, then of task ids. */
  claimsOf(
    tenant_id: string,
    session_id: string,
    query: PageQuery = {},
  ): Reply<{ claims: TaskClaim[]; next: string | null }> {
    return this.turns.take(tenant_id, async () => {
      const page = await this.pageIn(tenant_id, query, async (project, after, count) => {
        const subjects = await inSlices(
          firstNames(heldBy(project, session_id), after, count),
          this.environment,
        );
        const desk = project.desk();
        return subjects.flatMap((subject) => claimOn(desk, subject) ?? []);
      });
      if (isProblem(page)) return page;
      const { items: claims, hasMore } = page;
      const last = claims.at(-1);
      return { claims, next: hasMore && last ? `${last.project_id}/${last.task_id}` : null };
    });
  }

  /** The memory of a session, folded from its events in every project where it worked. */
  get(tenant_id: string, session_id: string, query: PageQuery = {}): Reply<SessionMemory> {
    return this.turns.take(tenant_id, async () => {
      const session = emptySession(session_id);
      let progress = {};
      for (const project_id of await this.projects.idsOf(tenant_id)) {
        const key = { tenant_id, project_id };
        let isInIt = false;
        await this.history.each(key, { session_id }, (event) => {
          isInIt = true;
          evolveSession(session, event);
          return true;
        });
        await this.environment.breathe();
        if (!isInIt) continue;
        const found = await this.projects.current(key, async (project) =>
          inSlices(progressSteps(project.state, vantage(project)), this.environment),
        );
        if (isProblem(found)) return found;
        progress = found.tracks;
      }
      return session.created_at === null ? noSession() : sessionMemory(session, progress, limitOf(query));
    });
  }

  /** Items of one project after another, from the cursor `project_id/name` on, until a page is full. */
  private async pageIn<T>(
    tenant_id: string,
    query: PageQuery,
    ask: (project: Project, after: string, count: number) => Promise<T[]>,
  ): Reply<{ items: T[]; hasMore: boolean }> {
    const [first = '', name = ''] = splitCursor(query.after ?? '');
    const limit = limitOf(query);
    const items: T[] = [];
    for (const project_id of (await this.projects.idsOf(tenant_id)).sort()) {
      if (project_id < first) continue;
      const after = project_id === first ? name : '';
      const found = await this.projects.current({ tenant_id, project_id }, async (project) => ({
        items: await ask(project, after, limit - items.length + 1),
      }));
      if (isProblem(found)) return found;
      items.push(...found.items);
      if (items.length > limit) return { items: items.slice(0, limit), hasMore: true };
      await this.environment.breathe();
    }
    return { items, hasMore: false };
  }

  private newId(): string {
    return `sess-${Buffer.from(this.environment.randomBytes(12)).toString('hex')}`;
  }
}

async function closeIn(project: Project, session_id: string, caller: Caller): Reply<SessionResult> {
  const closed = await project.run(new CloseSessionOperation(session_id, caller), caller);
  if (isProblem(closed) || !closed.success) return closed;
  for (const subject of [...(project.state.bySession.get(session_id) ?? [])]) {
    const { generation } = project.desk().head(subject);
    const handle = { generation, session_id, claim_id: null };
    const command = { type: 'release', handle, reason: 'SESSION_CLOSED', message: null } as const;
    await project.run(new HolderOperation(subject, command, releaseResult));
  }
  return closed;
}

function notThatUser({ user_id }: Caller): Problem {
  const message =
    user_id === null
      ? 'this credential stands for no user, so leave it out; only an admin opens a session for another user'
      : `expected ${user_id}, the user of this credential, or nothing; only an admin opens a session for another user`;
  return problem('FORBIDDEN', `user_id: ${message}`, [{ path: 'user_id', message }]);
}

function* sessionIds({ state }: Project): Generator<string> {
  for (const subject of state.records.keys()) {
    const id = sessionIdOf(subject);
    if (id !== null && id !== undefined) yield id;
  }
}

function* heldBy(project: Project, session_id: string): Generator<string> {
  const desk = project.desk();
  for (const subject of project.state.bySession.get(session_id) ?? []) {
    if (claimOn(desk, subject) !== null) yield subject;
  }
}

/** The claim on a subject, unless it is over. */
function claimOn(desk: Desk, subject: string): TaskClaim | null {
  const { claim } = stateOf(desk, desk.head(subject), 0);
  return claim === null || claim.state === 'EXPIRED' ? null : claim;
}

/** Neither projects nor sessions have a slash in their names. */
function splitCursor(after: string): [string, string] {
  const slash = after.indexOf('/');
  return slash < 0 ? [after, ''] : [after.slice(0, slash), after.slice(slash + 1)];
}

const noSession = (): Problem => problem('NOT_FOUND', 'There is no session by that id.');
