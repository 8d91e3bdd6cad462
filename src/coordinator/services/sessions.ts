import type { TaskClaim } from '../../core/contract/claim-records.js';
import type { PageQuery } from '../../core/contract/schema.js';
import {
  type ProgressCounts,
  PUBLIC_KEY_TEXT,
  publicKey,
  type SessionMemory,
  type SessionResult,
  sessionBody,
} from '../../core/contract/sessions.js';
import { sessionIdSchema } from '../../core/ids.js';
import { canOpenSessionFor } from '../../core/sessions.js';
import { sessionIdOf } from '../../core/subject.js';
import {
  addTrackProgress,
  emptySession,
  evolveSession,
  progressInSlices,
  sessionMemory,
} from '../../core/views/index.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { isPublicKey } from '../authentication/public-key.js';
import { holderOperation } from '../operations/holder.js';
import { parseBody } from '../operations/parse-body.js';
import { renderReleaseResult } from '../operations/render.js';
import {
  closeSession,
  openSession,
  readSessionRecord,
  unknownSessionProblem,
} from '../operations/session.js';
import { requestKeyOf } from '../operations/shared.js';
import type { EventHistory } from '../queries/history.js';
import { firstNames, limitOf } from '../queries/page.js';
import type { ReadScheduler } from '../queries/read-scheduler.js';
import { taskStateOf } from '../queries/tasks.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type AsyncReply, catchStoreErrors, fieldProblem, isProblem, type Problem } from '../wire/problem.js';

/** The contract checks only the form of a public key. Here it must also be a point of the curve. */
const openSessionBody = sessionBody.extend({
  public_key: publicKey.refine(isPublicKey, PUBLIC_KEY_TEXT).optional(),
});

/** Opens, closes and lists sessions, and reads the memory of a session: what it has done, in all its projects. */
export class SessionService {
  constructor(
    private readonly projects: Projects,
    private readonly history: EventHistory,
    private readonly readScheduler: ReadScheduler,
    private readonly environment: Environment,
  ) {}

  async open(tenant_id: string, body: unknown, caller = OPEN_CALLER): AsyncReply<SessionResult> {
    const fields = parseBody(openSessionBody, body);
    if (isProblem(fields)) return fields;
    const { user_id = caller.user_id, project_id, public_key = null } = fields;
    if (!canOpenSessionFor(user_id, caller)) return otherUserProblem(caller);
    const session_id = fields.session_id ?? this.newId();
    const opening = { session_id, user_id, public_key };
    const requestKey = requestKeyOf(caller, 'open_session', fields);
    return this.projects.withProject({ tenant_id, project_id }, (project) =>
      project.run(openSession(opening, caller, requestKey), caller),
    );
  }

  /**
   * Closes a session in all its projects and releases each of its claims with a fenced release. In another project
   * the same id may belong to another caller: that session stays open, and the caller's own is closed nevertheless.
   */
  async close(tenant_id: string, sessionId: string, caller = OPEN_CALLER): AsyncReply<SessionResult> {
    if (!sessionIdSchema.safeParse(sessionId).success) return unknownSessionProblem();
    return catchStoreErrors(async () => {
      let closed: SessionResult | null = null;
      let forbidden: Problem | null = null;
      for (const project_id of await this.projects.projectIdsOf(tenant_id)) {
        const projectKey = { tenant_id, project_id };
        const reply = await this.projects.withProject(projectKey, (project) =>
          closeInProject(project, sessionId, caller),
        );
        // If closing fails in one project, fail the whole call: repeating it closes the remaining ones.
        if (!isProblem(reply)) closed = reply;
        else if (reply.problem === 'FORBIDDEN') forbidden = reply;
        else if (reply.problem !== 'NOT_FOUND') return reply;
      }
      return closed ?? forbidden ?? unknownSessionProblem();
    });
  }

  /** Sessions ordered by project, then session id. */
  async list(tenantId: string, query: PageQuery = {}) {
    const page = await this.pageAcrossProjects(tenantId, query, {
      namesIn: sessionIds,
      read: readSessionRecord,
      nameOf: ({ session_id }) => session_id,
    });
    return isProblem(page) ? page : { sessions: page.items, next: page.next };
  }

  /** A session's claims that have not ended, ordered by project, then task id. */
  async claimsOf(tenantId: string, sessionId: string, query: PageQuery = {}) {
    const page = await this.pageAcrossProjects(tenantId, query, {
      namesIn: (project) => subjectsHeldBy(project, sessionId),
      read: activeClaimOn,
      nameOf: ({ task_id }) => task_id,
    });
    return isProblem(page) ? page : { claims: page.items, next: page.next };
  }

  /** A session's memory, folded from its events in all projects. */
  get(tenant_id: string, session_id: string, query: PageQuery = {}): AsyncReply<SessionMemory> {
    return this.readScheduler.run(tenant_id, async () => {
      const session = emptySession(session_id);
      const progress = new Map<string, ProgressCounts>();
      for (const project_id of await this.projects.projectIdsOf(tenant_id)) {
        const projectKey = { tenant_id, project_id };
        let hasEvents = false;
        await this.history.forEach(projectKey, { session_id }, (event) => {
          hasEvents = true;
          evolveSession(session, event);
          return true;
        });
        await this.environment.yieldToEventLoop();
        if (!hasEvents) continue;
        const projectProgress = await this.projects.query(projectKey, async (project) =>
          runInSlices(progressInSlices(project.state, project.view()), this.environment),
        );
        if (isProblem(projectProgress)) return projectProgress;
        addTrackProgress(progress, projectProgress.tracks);
      }
      return session.created_at === null
        ? unknownSessionProblem()
        : sessionMemory(session, Object.fromEntries(progress), limitOf(query));
    });
  }

  /** One page of items, project by project, continuing after the cursor `project_id/name`. */
  private pageAcrossProjects<T extends { project_id: string }>(
    tenant_id: string,
    query: PageQuery,
    { namesIn, read, nameOf }: NamedItems<T>,
  ): AsyncReply<{ items: T[]; next: string | null }> {
    return this.readScheduler.run(tenant_id, async () => {
      const [first = '', name = ''] = splitCursor(query.after ?? '');
      const limit = limitOf(query);
      const items: T[] = [];
      for (const project_id of (await this.projects.projectIdsOf(tenant_id)).sort()) {
        if (project_id < first) continue;
        const after = project_id === first ? name : '';
        const count = limit - items.length + 1;
        const projectItems = await this.projects.query({ tenant_id, project_id }, async (project) => {
          const names = await runInSlices(firstNames(namesIn(project), after, count), this.environment);
          const view = project.view();
          return names.flatMap((itemName) => read(view, itemName) ?? []);
        });
        if (isProblem(projectItems)) return projectItems;
        items.push(...projectItems);
        if (items.length > limit) {
          const last = items[limit - 1] as T;
          return { items: items.slice(0, limit), next: `${last.project_id}/${nameOf(last)}` };
        }
        await this.environment.yieldToEventLoop();
      }
      return { items, next: null };
    });
  }

  private newId(): string {
    return `sess-${Buffer.from(this.environment.randomBytes(12)).toString('hex')}`;
  }
}

/** Items of a project that are listed by name. */
interface NamedItems<T> {
  namesIn(project: Project): Iterable<string>;
  read(view: DecisionView, name: string): T | null;
  nameOf(item: T): string;
}

async function closeInProject(project: Project, session_id: string, caller: Caller) {
  const closed = await project.run(closeSession(session_id, caller), caller);
  if (isProblem(closed)) return closed;
  for (const subject of [...(project.state.bySession.get(session_id) ?? [])]) {
    const { generation } = project.view().head(subject);
    const handle = { generation, session_id, claim_id: null };
    const command = { type: 'release', handle, reason: 'SESSION_CLOSED', message: null } as const;
    const released = await project.run(holderOperation(subject, command, renderReleaseResult));
    if (isProblem(released)) return released;
  }
  return closed;
}

function otherUserProblem({ user_id }: Caller): Problem {
  const message =
    user_id === null
      ? 'this credential has no user, so omit user_id; only an admin can open a session for another user'
      : `expected ${user_id}, the user of this credential, or no user_id; only an admin can open a session for another user`;
  return fieldProblem('user_id', message, 'FORBIDDEN');
}

function* sessionIds({ state }: Project): Generator<string> {
  for (const subject of state.records.keys()) {
    const id = sessionIdOf(subject);
    if (id !== null && id !== undefined) yield id;
  }
}

function* subjectsHeldBy(project: Project, sessionId: string): Generator<string> {
  const view = project.view();
  for (const subject of project.state.bySession.get(sessionId) ?? []) {
    if (activeClaimOn(view, subject) !== null) yield subject;
  }
}

/** The claim on a subject, unless it has ended. */
function activeClaimOn(view: DecisionView, subject: string): TaskClaim | null {
  const { claim } = taskStateOf(view, view.head(subject), 0);
  return claim === null || claim.state === 'EXPIRED' ? null : claim;
}

/** Splits at the first slash: project and session names contain none. */
function splitCursor(after: string): [string, string] {
  const slash = after.indexOf('/');
  return slash < 0 ? [after, ''] : [after.slice(0, slash), after.slice(slash + 1)];
}
