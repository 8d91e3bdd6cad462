import type { RunDetails, RunSummary } from '../../../../src/core/contract/runs.js';
import { durationText } from '../../model/duration.js';

type Step = RunDetails['steps'][number];
type Spent = RunSummary['spent'];

/** The end of the id, because ids of the same minute have the same beginning. */
export const shortRunId = (id: string): string => (id.length > 8 ? `…${id.slice(-8)}` : id);

export const NO_COST = '–';

/** Money and tokens: `$0.50, 1,200 tokens`. */
export function costText({ usd, input_tokens, output_tokens }: Spent): string {
  const tokens = input_tokens + output_tokens;
  if (usd === 0 && tokens === 0) return NO_COST;
  const money = usd === null ? 'cost unknown' : `$${usd.toFixed(usd < 0.1 && usd > 0 ? 4 : 2)}`;
  return tokens === 0 ? money : `${money}, ${tokens.toLocaleString('en')} tokens`;
}

export const msText = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : durationText(ms));

/** The duration of the run, until now if it has not ended; null before it starts. */
export function runDuration(run: Pick<RunSummary, 'started_at' | 'ended_at'>, nowMs: number): string | null {
  if (run.started_at === null) return null;
  const end = run.ended_at === null ? nowMs : Date.parse(run.ended_at);
  return durationText(end - Date.parse(run.started_at));
}

/** The time from the start of the first step to the end of the last, because checks overlap. Null until all have ended. */
export function stateDuration(steps: readonly Pick<Step, 'started_at' | 'ended_at'>[]): string | null {
  if (steps.length === 0 || steps.some(({ ended_at }) => ended_at === null)) return null;
  const starts = steps.map(({ started_at }) => Date.parse(started_at));
  const ends = steps.map(({ ended_at }) => Date.parse(ended_at as string));
  return msText(Math.max(0, Math.max(...ends) - Math.min(...starts)));
}

/** The total cost of the steps of a state; null if there is none. */
export function stateCost(steps: readonly Pick<Step, 'cost'>[]): string | null {
  const sum = { input_tokens: 0, output_tokens: 0, usd: 0 as number | null };
  for (const { cost } of steps) {
    sum.input_tokens += cost.input_tokens;
    sum.output_tokens += cost.output_tokens;
    // One unknown part makes the sum unknown.
    sum.usd = sum.usd === null || cost.usd === null ? null : sum.usd + cost.usd;
  }
  return sum.usd === 0 && sum.input_tokens + sum.output_tokens === 0
    ? null
    : costText({ ...sum, seconds: 0 });
}

/** The digest of an output that this server stores; null if it is elsewhere. */
export const storedDigest = ({ bucket, version }: NonNullable<Step['output_ref']>): string | null =>
  bucket === '' && /^[0-9a-f]{64}$/.test(version) ? version : null;
