import { setMaxListeners } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Genesis } from '../../client/index.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { resolveProgram } from '../../engine/processes/resolve-program.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import type { Io } from '../io.js';
import { countText, joinFirst } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { cliFolder } from '../state/cli-folder.js';
import { WORKSPACE_VARIABLE } from '../worker/drafts.js';
import { assertRunnable } from '../worker/runnable.js';
import {
  OUTBOX_SERVER_VARIABLE,
  targetEnvironment,
  type WorkTarget,
  workTargetOf,
} from '../worker/work-target.js';
import { AgentLocks } from './agent-locks.js';
import { AgentLog, LOG_BYTES_MAX } from './agent-log.js';
import { AgentProcess, type AgentSpec } from './agent-process.js';
import { agentSessions } from './agent-sessions.js';
import { FleetProgress } from './fleet-progress.js';
import { LiveView } from './live-view.js';
import { isAllWorkDone, readOpenWork } from './open-work.js';
import { ProjectFollower } from './project-follower.js';
import { agentsReport, reportText } from './report.js';
import { AgentWorktree, findRepository, type KeptWorktree } from './worktree.js';

interface FleetOptions {
  readonly specs: readonly AgentSpec[];
  readonly leaseSeconds: number | undefined;
  readonly restartsMax: number;
}

/** Runs the agents until all work is done, all are given up, or a signal stops them. */
export async function runFleet(context: CommandContext, options: FleetOptions): Promise<void> {
  const { io } = context;
  const specs = options.specs.map((spec) => withResolvedProgram(io, spec));
  const target = await workTargetOf(context);
  const genesis = await context.genesis();
  const { position } = unwrapReply(await genesis.status());
  const folder = await createFolder(io);
  const names = specs.map(({ name }) => name);
  const locks = await AgentLocks.acquire(folder, names);
  try {
    await runLocked(context, { ...options, specs }, { genesis, target, position, folder });
  } finally {
    await locks.release();
  }
}

interface FleetConnection {
  readonly genesis: Genesis;
  readonly target: WorkTarget;
  /** The position of the log before the fleet does anything. */
  readonly position: number;
  readonly folder: string;
}

async function runLocked(
  context: CommandContext,
  { specs, ...options }: FleetOptions,
  { genesis, target, position, folder }: FleetConnection,
): Promise<void> {
  const { io } = context;
  const worktrees = await openWorktrees(io, specs, folder);
  const stopListener = listenForStop(io);
  const progress = new FleetProgress(specs.map(({ name }) => name));
  const agents: AgentProcess[] = [];
  const view = new LiveView(context, agents, progress);
  const shared = {
    leaseSeconds: options.leaseSeconds,
    env: io.env,
    targetVariables: {
      ...targetEnvironment(io, target),
      ...workspaceVariable(io),
      [OUTBOX_SERVER_VARIABLE]: target.outbox_server,
    },
    sessions: await agentSessions(io, genesis, target),
    restartsMax: options.restartsMax,
    printLine: view.printLine,
    onIdle: onceInARow(view.printLine),
    ...stopListener.signals,
  };
  try {
    for (const [index, spec] of specs.entries()) {
      const log = await AgentLog.open(join(folder, `${spec.name}.log`));
      const processGroupFile = join(folder, `${spec.name}.${process.pid}.group`);
      const workFolder = worktrees[index]?.startFolder ?? io.cwd;
      agents.push(new AgentProcess({ ...shared, spec, folder: workFolder, log, processGroupFile }));
    }
    printStart(context, target.project, agents, folder, worktrees.length > 0);
    const showEvent = (event: EventEnvelope) => applyEvent(event, agents, progress, view);
    await runAgents(agents, view, new ProjectFollower(genesis, position, showEvent));
  } finally {
    stopListener.end();
    for (const agent of agents) await agent.log.close();
  }
  const report = {
    ...agentsReport(agents, progress),
    worktrees: await finishWorktrees(worktrees),
    left: await readOpenWork(genesis, specs.some(takesEdges)),
  };
  context.printReply(report, () => reportText(report, context));
  if (stopListener.signals.stop.aborted) context.exit_code = EXIT.stopped;
  else if (!isAllWorkDone(report.left)) context.exit_code = EXIT.refused;
}

/** Runs the agents, and shows their work meanwhile. Resolves when all have ended. */
async function runAgents(
  agents: readonly AgentProcess[],
  view: LiveView,
  follower: ProjectFollower,
): Promise<void> {
  // If this process ends early, for example because the reader of its output has gone, the agents end too.
  const terminateAll = (): void => {
    for (const agent of agents) agent.terminate();
  };
  process.once('exit', terminateAll);
  try {
    void follower.follow().then((reason) => {
      if (reason !== null)
        view.printLine(`The work shown is out of date: the event stream ended (${reason})`);
    });
    view.start();
    await Promise.all(agents.map((agent) => agent.run()));
    await follower.catchUp();
  } finally {
    follower.stop();
    view.stop();
    process.off('exit', terminateAll);
  }
}

/** The spec with the full path of its program, because the agents may start in worktrees. */
function withResolvedProgram(io: Io, spec: AgentSpec): AgentSpec {
  assertRunnable({ ...io, env: { ...io.env, ...spec.environment } }, spec.command[0] ?? '');
  return { ...spec, command: resolveProgram(spec.command, io.cwd) };
}

const takesEdges = ({ kind, tracks }: AgentSpec): boolean => kind !== 'task' && tracks.length === 0;

/** Prints a repeated line only once, because several agents wait for the same reason. */
function onceInARow(printLine: (line: string) => void): (line: string) => void {
  let lastLine = '';
  return (line) => {
    if (line !== lastLine) printLine(line);
    lastLine = line;
  };
}

/** The variable that names this workspace: agents start in worktrees, but use the draft folders of this workspace. */
function workspaceVariable({ cwd }: Io): NodeJS.ProcessEnv {
  const workspace = Workspace.find(cwd);
  return workspace === null ? {} : { [WORKSPACE_VARIABLE]: workspace.root };
}

/** Creates the folder of logs and worktrees, which git ignores. */
async function createFolder(io: Io): Promise<string> {
  const folder = join(cliFolder(io), 'fleet');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, '.gitignore'), '*\n');
  return folder;
}

/** One worktree per agent; none outside a git repository, or if it has no commit. */
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
    const keptWorktree = await worktree.finish();
    if (keptWorktree !== null) kept.push(keptWorktree);
  }
  return kept;
}

function listenForStop(io: Io) {
  const [stopController, killController] = [new AbortController(), new AbortController()];
  // Every agent listens to both signals: there is no maximum number of listeners.
  setMaxListeners(0, stopController.signal, killController.signal);
  const end = io.onStop(() => (stopController.signal.aborted ? killController : stopController).abort());
  return { signals: { stop: stopController.signal, kill: killController.signal }, end };
}

function applyEvent(
  event: EventEnvelope,
  agents: readonly AgentProcess[],
  progress: FleetProgress,
  view: LiveView,
): void {
  const agent = agents.find(({ name }) => name === event.agent_id);
  if (agent === undefined) return;
  const { accepted } = progress.progressOf(agent.name);
  const line = progress.apply(event);
  if (progress.progressOf(agent.name).accepted > accepted) agent.recordAccepted();
  if (line !== null) view.printLine(line);
}

const NAMES_SHOWN = 10;

function printStart(
  context: CommandContext,
  projectId: string,
  agents: readonly AgentProcess[],
  folder: string,
  hasWorktrees: boolean,
): void {
  const names = agents.map(({ name }) => name);
  const where = hasWorktrees
    ? `Each works in its own git worktree: ${join(folder, 'AGENT')}, branch fleet/AGENT`
    : 'All agents work in the current folder: it is not in a git repository that has a commit.';
  context.printNotice(
    [
      `${countText(names.length, 'agent')} on ${projectId}: ${joinFirst(names, NAMES_SHOWN)}. Ctrl-C stops them.`,
      `Logs: ${join(folder, 'AGENT.log')} (at most ${(2 * LOG_BYTES_MAX) / 1024 / 1024} MiB per agent)`,
      where,
    ].join('\n'),
  );
}
