import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { stepParts } from './run-model.js';
import { storedDigest } from './run-texts.js';

type Step = RunDetails['steps'][number];
type BlobReference = NonNullable<Step['output_ref']>;

const PREPARED = ['load_config', 'load_context'];
const CANDIDATE = [...PREPARED, 'construct_candidate'];
const CHECKED = [...CANDIDATE, 'run_check', 'judge_check'];

/** The handlers whose outputs a step reads: before the iterations or in its own, and in the iteration before. */
const READS: Readonly<Record<string, { own: readonly string[]; last: readonly string[] }>> = {
  load_context: { own: ['load_config'], last: [] },
  construct_candidate: { own: PREPARED, last: ['construct_candidate', 'judge_iteration'] },
  run_check: { own: CANDIDATE, last: [] },
  judge_check: { own: [...CANDIDATE, 'run_check'], last: [] },
  request_review: { own: CHECKED, last: [] },
  judge_iteration: { own: [...CHECKED, 'request_review'], last: [] },
  promote: { own: [...CHECKED, 'request_review', 'judge_iteration'], last: [] },
  escalate: { own: [...CHECKED, 'request_review', 'judge_iteration'], last: [] },
};

/** The steps whose outputs are the input of a step. */
export function inputSteps({ steps }: Pick<RunDetails, 'steps'>, step: Step): readonly Step[] {
  const { own = [], last = [] } = READS[stepParts(step.step).handler] ?? {};
  return steps.filter(({ step: name, iteration, status }) => {
    const { handler } = stepParts(name);
    if (status !== 'COMPLETED') return false;
    if (PREPARED.includes(handler)) return own.includes(handler);
    return iteration === step.iteration
      ? own.includes(handler)
      : iteration === step.iteration - 1 && last.includes(handler);
  });
}

/** Content that an output names and this server stores. */
interface StoredPart {
  readonly title: string;
  readonly sha256: string;
}

const TITLES: Readonly<Record<string, string>> = {
  prompt_sha256: 'Prompt',
  manifest: 'Files',
  output_sha256: 'Log of the check',
  findings: 'Findings',
  plan: 'Plan of the edge',
  report: 'Report',
};

/** The output comes from an executor, so its parts may have any form. */
export function storedParts(output: Step['output']): readonly StoredPart[] {
  return Object.entries(output ?? {}).flatMap(([name, value]) => {
    const title = TITLES[name];
    const sha256 = typeof value === 'string' ? digestOf(value) : referenceDigest(value);
    return title === undefined || sha256 === null ? [] : [{ title, sha256 }];
  });
}

const digestOf = (version: string): string | null => storedDigest({ bucket: '', key: version, version });

function referenceDigest(value: unknown): string | null {
  const { bucket, version } = Object(value) as Partial<BlobReference>;
  return bucket === '' && typeof version === 'string' ? digestOf(version) : null;
}

/** What an executor said about the step, in a sentence. */
export const outputMessage = (output: Step['output']): string | null =>
  typeof output?.says === 'string' && output.says !== '' ? output.says : null;
