import type { AddCommands } from './command.js';
import { GLOBAL_OPTIONS } from './context.js';

interface CommandGroup {
  readonly names: readonly string[];
  readonly load: () => Promise<AddCommands>;
}

/** Every command under its heading, in the order of the help. A command loads its own module only; help loads all modules. */
const COMMANDS_BY_HEADING: Readonly<Record<string, readonly CommandGroup[]>> = {
  'Start and watch': [
    { names: ['up'], load: async () => (await import('./commands/up.js')).upCommand },
    { names: ['init'], load: async () => (await import('./commands/init.js')).initCommand },
    { names: ['demo', 'demo-agent'], load: async () => (await import('./commands/demo.js')).demoCommands },
    {
      names: ['status', 'agents', 'sessions'],
      load: async () => (await import('./commands/status.js')).statusCommands,
    },
    { names: ['projects'], load: async () => (await import('./commands/projects.js')).projectsCommand },
    { names: ['events'], load: async () => (await import('./commands/events.js')).eventsCommand },
  ],
  Work: [
    { names: ['plan'], load: async () => (await import('./commands/plan.js')).planCommand },
    { names: ['next'], load: async () => (await import('./commands/next.js')).nextCommand },
    { names: ['task'], load: async () => (await import('./commands/task.js')).taskCommand },
    { names: ['run'], load: async () => (await import('./commands/run.js')).runCommand },
    { names: ['fleet'], load: async () => (await import('./commands/fleet.js')).fleetCommand },
  ],
  Methodology: [
    { names: ['start'], load: async () => (await import('./commands/start.js')).startCommand },
    { names: ['iterate'], load: async () => (await import('./commands/iterate.js')).iterateCommand },
    { names: ['runs'], load: async () => (await import('./commands/runs.js')).runsCommand },
    { names: ['trace'], load: async () => (await import('./commands/trace.js')).traceCommand },
    { names: ['gaps'], load: async () => (await import('./commands/gaps.js')).gapsCommand },
    { names: ['spawn'], load: async () => (await import('./commands/spawn.js')).spawnCommand },
    { names: ['check'], load: async () => (await import('./commands/check.js')).checkCommand },
    { names: ['checkpoint'], load: async () => (await import('./commands/checkpoint.js')).checkpointCommand },
    { names: ['review'], load: async () => (await import('./commands/review.js')).reviewCommand },
    { names: ['release'], load: async () => (await import('./commands/release.js')).releaseCommand },
    { names: ['zoom'], load: async () => (await import('./commands/zoom.js')).zoomCommand },
  ],
  'Connect agents': [
    { names: ['setup'], load: async () => (await import('./setup/setup.js')).setupCommand },
    { names: ['mcp'], load: async () => (await import('./mcp.js')).mcpCommand },
    { names: ['hook'], load: async () => (await import('./hook.js')).hookCommand },
    { names: ['serialise'], load: async () => (await import('./commands/serialise.js')).serialiseCommand },
  ],
  Operate: [
    { names: ['verify'], load: async () => (await import('./commands/verify.js')).verifyCommand },
    { names: ['audit'], load: async () => (await import('./commands/audit.js')).auditCommand },
    {
      names: ['limits', 'policy'],
      load: async () => (await import('./commands/settings.js')).settingsCommands,
    },
    { names: ['key'], load: async () => (await import('./commands/key.js')).keyCommand },
    { names: ['whoami'], load: async () => (await import('./commands/whoami.js')).whoamiCommand },
    { names: ['runner'], load: async () => (await import('./commands/runner.js')).runnerCommand },
    { names: ['migrate'], load: async () => (await import('./commands/migrate.js')).migrateCommand },
    { names: ['sync'], load: async () => (await import('./commands/sync.js')).syncCommand },
    {
      names: ['export', 'import'],
      load: async () => (await import('./commands/transfer.js')).transferCommands,
    },
    // Shell completion needs the modules of all commands: a group without names is loaded together with all others.
    { names: [], load: async () => (await import('./commands/completion.js')).completionCommand },
  ],
};

/** Wraps `add`, so that the help shows its commands under this heading. */
const underHeading =
  (heading: string, add: AddCommands): AddCommands =>
  (program, wrapAction) => {
    program.commandsGroup(`${heading}:`);
    add(program, wrapAction);
  };

const COMMAND_GROUPS: readonly CommandGroup[] = Object.entries(COMMANDS_BY_HEADING).flatMap(
  ([heading, groups]) =>
    groups.map(({ names, load }) => ({ names, load: async () => underHeading(heading, await load()) })),
);

/** The group that the command line names; all groups for help or an unknown command; none for the version. */
export function commandGroupsFor(argv: readonly string[]): Promise<AddCommands[]> {
  if (argv[0] === '--version' || argv[0] === '-V') return Promise.resolve([]);
  const commandName = commandNameIn(argv);
  const group = COMMAND_GROUPS.find(({ names }) => names.includes(commandName ?? ''));
  return group === undefined ? allCommandGroups() : Promise.all([group.load()]);
}

export const allCommandGroups = (): Promise<AddCommands[]> =>
  Promise.all(COMMAND_GROUPS.map(({ load }) => load()));

const OPTIONS_WITH_VALUE = new Set(
  Object.keys(GLOBAL_OPTIONS).flatMap((flags) => /^(\S+) </.exec(flags)?.[1] ?? []),
);

/** The first argument that is neither an option nor the value of a global option. */
export function commandNameIn(argv: readonly string[]): string | undefined {
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (!word.startsWith('-')) return word;
    if (OPTIONS_WITH_VALUE.has(word)) index += 1;
  }
  return undefined;
}
