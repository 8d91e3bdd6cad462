import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, fileUnreadable, wrongUsage } from '../exit.js';
import { newNames, numberedNames } from '../fleet/agent-name.js';
import type { AgentSpec } from '../fleet/agent-process.js';
import {
  type AgentGroup,
  FLEET_AGENTS_MAX,
  FLEET_FILE_BYTES_MAX,
  GROUP_NAME_PATTERN,
  readFleetFile,
} from '../fleet/fleet-file.js';
import { runFleet } from '../fleet/run-fleet.js';
import { parseWholeNumber, WORKER_OPTIONS } from '../option-parsers.js';
import type { OptionsOf } from '../option-table.js';

const FILE_DEFAULT = 'fleet.yml';
const RESTARTS_DEFAULT = 5;

const FLEET_OPTIONS = {
  '-n, --agents <n>': {
    about: `number of agents, at most ${FLEET_AGENTS_MAX} (default: 1)`,
    parse: parseWholeNumber,
  },
  '--file <file>': `YAML file that describes the agents (default without a command: ${FILE_DEFAULT})`,
  '--name <name>': 'name the agents NAME-1, NAME-2, … (default: the program and a short id)',
  ...WORKER_OPTIONS,
  '--restarts <n>': {
    about: 'give up an agent after this many restarts in a row without an accepted result',
    parse: parseWholeNumber,
    default: RESTARTS_DEFAULT,
  },
} as const;

export const fleetCommand = defineCommand('fleet [command...]', {
  synopsis: '[options] -- <command...>\n       gen fleet [options] [--file fleet.yml]',
  description: 'run several agents until all work is done',
  options: FLEET_OPTIONS,
  help: `
Each agent is a separate "gen run --loop": it claims a task or an edge of a feature, runs the command on it, submits
the result, and repeats. The command gets the work in environment variables (see gen run --help): the most important are
GENESIS_TASK_ID, GENESIS_BRIEFING (a file with the briefing as JSON) and GENESIS_RESULT (the file to write the result
to).
In a git repository each agent has its own worktree and branch (.genesis/fleet/AGENT, branch fleet/AGENT). At the
end a worktree without commits and changes is removed. Commit what the agents need before you start them. A task does not see
the commits of another agent's branch, only the results of its dependencies, in the briefing. At the end, merge the
branches: git merge fleet/AGENT.
On an edge the command runs in a draft folder of the workspace, and writes the results of its checks to GENESIS_CHECKS.
An agent that dies is started again after a growing pause. If this command dies, its agents stop. Ctrl-C stops all agents and releases their claims.

To start a fleet, in two terminals:
  gen up
  gen plan import plan.yaml
  gen fleet -n 3 -- sh -c 'echo "I did $GENESIS_TASK_ID" > "$GENESIS_RESULT"'
  gen fleet -n 5 -- claude -p 'Do the task that the JSON file $GENESIS_BRIEFING describes. Commit your work.'

A file fleet.yml with two groups of agents, started with "gen fleet":
  agents:
    - name: builder
      command: [claude, -p, "Do the task in the file $GENESIS_BRIEFING."]
      count: 3
      tracks: [A, B]
    - name: checker
      command: ./check.sh "$GENESIS_TASK_ID"
      kind: task
      role: reviewer
      environment: { LOG_LEVEL: debug }

Exit codes: 0 all work is done, 1 work is left and all agents have ended, 130 stopped by Ctrl-C.`,
  async run(context, programAndArguments, options) {
    const specs =
      programAndArguments.length > 0
        ? specsOfCommand(programAndArguments, options)
        : await specsOfFile(context, options);
    await runFleet(context, { specs, leaseSeconds: options.lease, restartsMax: options.restarts });
  },
});

type FleetCommandOptions = OptionsOf<typeof FLEET_OPTIONS>;

function specsOfCommand(command: readonly string[], options: FleetCommandOptions): AgentSpec[] {
  const { agents = 1, file, name, track: tracks = [], kind = null, role: agent_role = null } = options;
  if (file !== undefined) throw wrongUsage('Pass either a command or --file, not both.');
  if (agents < 1 || agents > FLEET_AGENTS_MAX)
    throw wrongUsage(`--agents: expected a number from 1 to ${FLEET_AGENTS_MAX}.`);
  if (name !== undefined && !GROUP_NAME_PATTERN.test(name))
    throw wrongUsage(`--name: expected letters, digits, _ and -, at most 60, not ${JSON.stringify(name)}.`);
  const names = name === undefined ? newNames(command[0] ?? '', agents) : numberedNames(name, agents);
  return names.map((each) => ({ name: each, command, tracks, kind, agent_role, environment: {} }));
}

async function specsOfFile(context: CommandContext, options: FleetCommandOptions): Promise<AgentSpec[]> {
  const { agents, name, track, kind, role } = options;
  if ([agents, name, track, kind, role].some((option) => option !== undefined))
    throw wrongUsage(
      '--agents, --name, --track, --kind and --role need a command after --. In a file, set them for each group.',
    );
  const groups = await readGroups(context, options.file);
  return groups.flatMap(({ name, count, ...spec }) =>
    numberedNames(name, count).map((each) => ({ ...spec, name: each })),
  );
}

async function readGroups(
  { io }: CommandContext,
  fileOption: string | undefined,
): Promise<readonly AgentGroup[]> {
  const file = fileOption ?? FILE_DEFAULT;
  const path = resolve(io.cwd, file);
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (stats instanceof Error) {
    if (fileOption === undefined && stats.code === 'ENOENT')
      throw wrongUsage(
        `Pass the command to run after --, or write a file ${FILE_DEFAULT}. See gen fleet --help.`,
      );
    throw fileUnreadable(file, stats, 'No agent was started.');
  }
  if (!stats.isFile()) throw wrongUsage(`${file} is not a regular file. No agent was started.`);
  if (stats.size > FLEET_FILE_BYTES_MAX)
    throw wrongUsage(
      `${file} has ${Math.ceil(stats.size / 1024)} KiB; at most ${FLEET_FILE_BYTES_MAX / 1024} KiB are allowed. No agent was started.`,
    );
  const result = readFleetFile(file, await readFile(path, 'utf8'));
  if (result.ok) return result.groups;
  throw new CommandFailure(result.faults.join('\n'), EXIT.usage);
}
