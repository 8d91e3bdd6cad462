import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Genesis } from '../../client/index.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import type { Io } from '../io.js';
import { countText, joinFirst } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { cliFolder } from '../state/cli-folder.js';
import { WORKSPACE_VARIABLE } from '../worker/drafts.js';
import { assertRunnable } from '../worker/runnable.js';
import type { WorkTarget } from '../worker/workdir.js';
import { AgentLog, LOG_BYTES_MAX } from './agent-log.js';
import { AgentProcess, type AgentSpec } from './agent-process.js';
import { agentSessions } from './agent-sessions.js';
import { LiveView } from './live-table.js';
import { isNothingLeft, readOpenWork } from './open-work.js';
import { ProjectFollower } from './project-follower.js';
import { agentsReport, reportText } from './report.js';
import { WorkFacts } from './work-facts.js';
import { AgentWorktree, findRepository, type KeptWorktree } from './worktree.js';

export interface FleetOptions {
  readonly specs: readonly AgentSpec[];
  readonly leaseSeconds: number | undefined;
  readonly restartsMax: number;
}

/** Runs the agents until all work is done, all are given up, or a signal stops them. */
export async function runFleet(context: CommandContext, options: FleetOptions): Promise<void> {
  const { io } = context;
  const specs = options.specs.map((spec) => withResolvedProgram(io, spec));
  const target = { ...(await context.target()), ...(await context.server()) };
  const genesis = await context.genesis();
  const cursor = await currentCursor(genesis);
  const folder = await createFolder(io);
  const worktrees = await openWorktrees(io, specs, folder);
  const stopping = listenForStop(io);
  const facts = new WorkFacts(specs.map(({ name }) => name));
  const agents: AgentProcess[] = [];
  const view = new LiveView(context, agents, facts);
  const follower = new ProjectFollower(genesis, (event) => onEvent(event, agents, facts, view));
  const shared = {
    leaseSeconds: options.leaseSeconds,
    env: io.env,
    address: { ...addressOf(io, target), ...workspaceVariable(io) },
    sessions: agentSessions(genesis, target, join(cliFolder(io), 'outbox')),
    restartsMax: options.restartsMax,
    say: view.say,
    ...stopping.signals,
  };
  // If this process ends early, for example because nobody reads its output any more, the agents end too.
  const terminateAll = (): void => {
    for (const agent of agents) agent.terminate();
  };
  process.once('exit', terminateAll);
  try {
    for (const [at, spec] of specs.entries()) {
      const log = await AgentLog.open(join(folder, `${spec.name}.log`));
      const programFile = join(folder, `${spec.name}.${process.pid}.program`);
      const workFolder = worktrees[at]?.startFolder ?? io.cwd;
      agents.push(new AgentProcess({ ...shared, spec, folder: workFolder, log, programFile }));
    }
    printStart(context, target.project, agents, folder, worktrees.length > 0);
    void follower.follow(cursor).then((reason) => {
      if (reason !== null) view.say(`The work shown is out of date: the event stream ended (${reason})`);
    });
    view.start();
    await Promise.all(agents.map((agent) => agent.run()));
    await follower.catchUp();
  } finally {
    follower.stop();
    view.stop();
    stopping.end();
    process.off('exit', terminateAll);
    for (const agent of agents) await agent.log.close();
  }
  const report = {
    ...agentsReport(agents, facts),
    worktrees: await finishWorktrees(worktrees),
    left: await readOpenWork(genesis, specs.some(takesEdges)),
  };
  context.show(report, () => reportText(report, context));
  if (stopping.signals.stop.aborted) context.exit_code = EXIT.stopped;
  else if (!isNothingLeft(report.left)) context.exit_code = EXIT.refused;
}

/** A relative path means a file of the current folder, also for an agent that starts in a worktree. */
function withResolvedProgram(io: Io, spec: AgentSpec): AgentSpec {
  const [program = '', ...args] = spec.command;
  assertRunnable({ ...io, env: { ...io.env, ...spec.environment } }, program);
  return program.includes('/') ? { ...spec, command: [resolve(io.cwd, program), ...args] } : spec;
}

const takesEdges = ({ kind, tracks }: AgentSpec): boolean => kind !== 'task' && tracks.length === 0;

/** The cursor of now, from an event of a session that is opened for it. */
async function currentCursor(genesis: Genesis): Promise<string> {
  const session_id = `fleet-${randomUUID().slice(0, 8)}`;
  unwrapReply(await genesis.openSession({ session_id }));
  const { next } = unwrapReply(await genesis.events({ session_id, limit: 1 }));
  await genesis.closeSession(session_id);
  return next;
}

function addressOf(io: Io, { url, tenant, project, token }: WorkTarget): NodeJS.ProcessEnv {
  return {
    GENESIS_URL: url,
    GENESIS_TENANT: tenant,
    GENESIS_PROJECT: project,
    GENESIS_HOME: cliFolder(io),
    ...(token === null ? {} : { GENESIS_TOKEN: token }),
  };
}

/** The agents start in worktrees, but use the draft folders of this workspace. */
function workspaceVariable({ cwd }: Io): NodeJS.ProcessEnv {
  const workspace = Workspace.find(cwd);
  return workspace === null ? {} : { [WORKSPACE_VARIABLE]: workspace.root };
}

/** The folder of logs and worktrees, which git ignores. */
async function createFolder(io: Io): Promise<string> {
  const folder = join(cliFolder(io), 'fleet');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, '.gitignore'), '*\n');
  return folder;
}

/** One per agent; none outside a git repository. */
async function openWorktrees(io: Io, specs: readonly AgentSpec[], folder: string): Promise<AgentWorktree[]> {
  const repository = await findRepository(io.cwd);
  const worktrees: AgentWorktree[] = [];
  if (repository === null) return worktrees;
  try {
    for (const { name } of specs)
      worktrees.push(await AgentWorktree.open(repository, name, join(folder, name)));
    return worktrees;
  } catch (error) {
    await finishWorktrees(worktrees);
    throw error;
  }
}

async function finishWorktrees(worktrees: readonly AgentWorktree[]): Promise<KeptWorktree[]> {
  const kept: KeptWorktree[] = [];
  for (const worktree of worktrees) {
    const found = await worktree.finish();
    if (found !== null) kept.push(found);
  }
  return kept;
}

function listenForStop(io: Io) {
  const [stop, kill] = [new AbortController(), new AbortController()];
  // Every agent listens.
  setMaxListeners(0, stop.signal, kill.signal);
  const end = io.onStop(() => (stop.signal.aborted ? kill : stop).abort());
  return { signals: { stop: stop.signal, kill: kill.signal }, end };
}

function onEvent(
  event: EventEnvelope,
  agents: readonly AgentProcess[],
  facts: WorkFacts,
  view: LiveView,
): void {
  const agent = agents.find(({ name }) => name === event.agent_id);
  if (agent === undefined) return;
  const { accepted } = facts.of(agent.name);
  const line = facts.apply(event);
  if (facts.of(agent.name).accepted > accepted) agent.noteAccepted();
  if (line !== null) view.say(line);
}

const NAMES_SHOWN = 10;

function printStart(
  context: CommandContext,
  project: string,
  agents: readonly AgentProcess[],
  folder: string,
  hasWorktrees: boolean,
): void {
  const names = agents.map(({ name }) => name);
  const where = hasWorktrees
    ? `Each works in a git worktree of its own: ${join(folder, 'AGENT')}, branch fleet/AGENT`
    : 'All agents work in the current folder: it is not in a git repository that has a commit.';
  context.printNotice(
    [
      `${countText(names.length, 'agent')} on ${project}: ${joinFirst(names, NAMES_SHOWN)}. Ctrl-C stops them.`,
      `Logs: ${join(folder, 'AGENT.log')} (at most ${(2 * LOG_BYTES_MAX) / 1024 / 1024} MiB per agent)`,
      where,
    ].join('\n'),
  );
}
