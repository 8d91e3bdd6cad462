import type { AddCommands } from './act.js';

interface Family {
  readonly names: readonly string[];
  readonly load: () => Promise<AddCommands>;
}

/** Every command, in the order in which help shows them. Each is loaded when it is called, and no other waits for it. */
const FAMILIES: readonly Family[] = [
  { names: ['up'], load: async () => (await import('./commands/up.js')).addUp },
  { names: ['init'], load: async () => (await import('./commands/init.js')).addInit },
  { names: ['demo', 'demo-agent'], load: async () => (await import('./commands/demo.js')).addDemo },
  { names: ['plan'], load: async () => (await import('./commands/plan.js')).addPlan },
  { names: ['next'], load: async () => (await import('./commands/next.js')).addNext },
  { names: ['task'], load: async () => (await import('./commands/task.js')).addTask },
  { names: ['run'], load: async () => (await import('./commands/run.js')).addRun },
  {
    names: ['status', 'agents', 'sessions'],
    load: async () => (await import('./commands/status.js')).addStatus,
  },
  { names: ['start'], load: async () => (await import('./commands/start.js')).addStart },
  { names: ['trace'], load: async () => (await import('./commands/trace.js')).addTrace },
  { names: ['gaps'], load: async () => (await import('./commands/gaps.js')).addGaps },
  { names: ['spawn'], load: async () => (await import('./commands/spawn.js')).addSpawn },
  { names: ['checkpoint'], load: async () => (await import('./commands/checkpoint.js')).addCheckpoint },
  { names: ['review'], load: async () => (await import('./commands/review.js')).addReview },
  { names: ['release'], load: async () => (await import('./commands/release.js')).addRelease },
  { names: ['zoom'], load: async () => (await import('./commands/zoom.js')).addZoom },
  { names: ['events'], load: async () => (await import('./commands/events.js')).addEvents },
  { names: ['verify'], load: async () => (await import('./commands/verify.js')).addVerify },
  { names: ['serialise'], load: async () => (await import('./commands/serialise.js')).addSerialise },
  { names: ['key'], load: async () => (await import('./commands/key.js')).addKey },
  { names: ['migrate'], load: async () => (await import('./commands/migrate.js')).addMigrate },
  { names: ['sync'], load: async () => (await import('./commands/sync.js')).addSync },
  { names: ['export', 'import'], load: async () => (await import('./commands/move.js')).addMove },
  { names: ['mcp'], load: async () => (await import('./mcp.js')).registerMcp },
  { names: ['setup'], load: async () => (await import('./setup/setup.js')).registerSetup },
  { names: ['hook'], load: async () => (await import('./hook.js')).registerHook },
];

/** The family that a command line calls; all of them where it calls for help, or for what is not there; none for the version. */
export function familiesFor(argv: readonly string[]): Promise<AddCommands[]> {
  if (argv[0] === '--version' || argv[0] === '-V') return Promise.resolve([]);
  const called = calledName(argv);
  const family = FAMILIES.find(({ names }) => names.includes(called ?? ''));
  return family === undefined ? allFamilies() : Promise.all([family.load()]);
}

export async function allFamilies(): Promise<AddCommands[]> {
  const { addCompletion } = await import('./commands/completion.js');
  return [...(await Promise.all(FAMILIES.map(({ load }) => load()))), addCompletion];
}

const WITH_VALUE = new Set(['--url', '--tenant', '--project', '--agent', '--session']);

/** The first word that is neither an option nor the value of one. */
function calledName(argv: readonly string[]): string | undefined {
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (!word.startsWith('-')) return word;
    if (WITH_VALUE.has(word)) at += 1;
  }
  return undefined;
}
