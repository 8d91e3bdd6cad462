import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const PARTS = [
  'paced',
  'flat-out',
  'keys',
  'sdk',
  'batched',
  'redis',
  'bullmq',
  'postgres',
  'pg-boss',
  'graphile-worker',
] as const;
export type BenchPart = (typeof PARTS)[number];

const QUEUES: readonly BenchPart[] = ['bullmq', 'pg-boss', 'graphile-worker'];
/** Whether a part measures the queue of another system instead of Genesis Fleet. */
export const isQueue = (part: BenchPart): boolean => QUEUES.includes(part);

const BATCH_SIZES = [50, 100, 250, 500] as const;

export interface BenchOptions {
  /** Maximum duration of the measurement of each part. */
  readonly seconds: number;
  readonly agents: number;
  /** Requests per second of the paced part. */
  readonly rate: number;
  /** Items per request of the batched part; one run for each value. */
  readonly batchSizes: readonly number[];
  readonly parts: readonly BenchPart[];
  /** Folder of the compiled server. */
  readonly dist: string;
  /** Commit to compare with. */
  readonly against: string | null;
  /** Rounds of which the medians are shown; null measures once. */
  readonly rounds: number | null;
}

const ROUNDS_AGAINST = 7;

const USAGE = `npm run bench:http [-- --seconds 10] [-- --agents 1000] [-- --rate 2000] [-- --batch ${BATCH_SIZES.join(',')}] [-- --only ${PARTS.join(',')}] [-- --against REF] [-- --rounds 7]`;

export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '10' },
      agents: { type: 'string', default: '1000' },
      rate: { type: 'string', default: '2000' },
      batch: { type: 'string', default: BATCH_SIZES.join(',') },
      only: { type: 'string', default: PARTS.join(',') },
      against: { type: 'string' },
      rounds: { type: 'string' },
    },
  });
  const requested = values.only.split(',');
  const unknown = requested.find((name) => !PARTS.some((part) => part === name));
  if (unknown !== undefined) throw new Error(`Unknown part ${unknown}.\n${USAGE}`);
  return {
    seconds: positiveInteger(values.seconds),
    agents: positiveInteger(values.agents),
    rate: positiveInteger(values.rate),
    batchSizes: values.batch.split(',').map(positiveInteger),
    parts: PARTS.filter((part) => requested.includes(part)),
    dist: fileURLToPath(new URL('../../dist', import.meta.url)),
    against: values.against ?? null,
    rounds: roundsOf(values.rounds, values.against),
  };
}

function roundsOf(rounds: string | undefined, against: string | undefined): number | null {
  if (rounds !== undefined) return positiveInteger(rounds);
  return against === undefined ? null : ROUNDS_AGAINST;
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${text} is not a positive integer.\n${USAGE}`);
  return value;
}
