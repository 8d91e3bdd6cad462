import { execFile } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';
import { hasPassed, reportText } from './report.js';
import { type HistoryRunOptions, runHistory } from './run.js';

const USAGE = `npm run check:history -- --store URL [--seconds 60] [--clients 50] [--coordinators 3]
  [--proxy none|agents|store|both] [--seed TEXT] [--restart-database COMMAND]`;
const PROXIES = ['none', 'agents', 'store', 'both'] as const;

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    clients: { type: 'string', default: '50' },
    coordinators: { type: 'string', default: '3' },
    proxy: { type: 'string', default: 'none' },
    seed: { type: 'string', default: String(Date.now()) },
    'restart-database': { type: 'string' },
  },
});

function readOptions(): HistoryRunOptions {
  const { store, seed, 'restart-database': command } = values;
  const proxy = PROXIES.find((name) => name === values.proxy);
  const [seconds = 0, clients = 0, coordinators = 0] = [
    values.seconds,
    values.clients,
    values.coordinators,
  ].map(Number);
  const counts = [seconds, clients, coordinators];
  if (store === undefined) throw new Error(`--store is missing.\n${USAGE}`);
  if (proxy === undefined)
    throw new Error(`--proxy must be one of ${PROXIES.join(', ')}, not ${values.proxy}.\n${USAGE}`);
  if (!counts.every((count) => count > 0))
    throw new Error(`--seconds, --clients and --coordinators must be above 0.\n${USAGE}`);
  if (store === 'memory:')
    throw new Error('A store in memory is lost when its coordinator is killed. Pass another --store.');
  const restart = command === undefined ? {} : { restartDatabase: () => shell(command) };
  return { store, seconds, clients, coordinators, proxy, seed, ...restart };
}

async function shell(command: string): Promise<void> {
  await promisify(execFile)('/bin/sh', ['-c', command]);
}

try {
  const options = readOptions();
  const result = await runHistory(options);
  process.stdout.write(`${reportText(options, result)}\n`);
  process.exitCode = hasPassed(result) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
