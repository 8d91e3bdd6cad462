import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { stepParts } from './run-model.js';
import { storedDigest } from './run-texts.js';

type Step = RunDetails['steps'][number];
type BlobReference = NonNullable<Step['output_ref']>;

const PREPARE_HANDLERS = ['load_config', 'load_context'];
const CANDIDATE_HANDLERS = [...PREPARE_HANDLERS, 'construct_candidate'];
const CHECK_HANDLERS = [...CANDIDATE_HANDLERS, 'run_check', 'judge_check'];

interface InputHandlers {
  /** The handlers before the iterations, and in the iteration of the step. */
  readonly current: readonly string[];
  /** The handlers in the iteration before. */
  readonly previous: readonly string[];
}

/** The handlers whose outputs a step reads, by the handler of the step. */
const INPUT_HANDLERS: Readonly<Record<string, InputHandlers>> = {
  load_context: { current: ['load_config'], previous: [] },
  construct_candidate: { current: PREPARE_HANDLERS, previous: ['construct_candidate', 'judge_iteration'] },
  run_check: { current: CANDIDATE_HANDLERS, previous: [] },
  judge_check: { current: [...CANDIDATE_HANDLERS, 'run_check'], previous: [] },
  request_review: { current: CHECK_HANDLERS, previous: [] },
  judge_iteration: { current: [...CHECK_HANDLERS, 'request_review'], previous: [] },
  promote: { current: [...CHECK_HANDLERS, 'request_review', 'judge_iteration'], previous: [] },
  escalate: { current: [...CHECK_HANDLERS, 'request_review', 'judge_iteration'], previous: [] },
};

/** The steps whose outputs are the input of a step. */
export function inputSteps({ steps }: Pick<RunDetails, 'steps'>, step: Step): readonly Step[] {
  const { current = [], previous = [] } = INPUT_HANDLERS[stepParts(step.step).handler] ?? {};
  return steps.filter(({ step: name, iteration, status }) => {
    const { handler } = stepParts(name);
    if (status !== 'COMPLETED') return false;
    if (PREPARE_HANDLERS.includes(handler)) return current.includes(handler);
    return iteration === step.iteration
      ? current.includes(handler)
      : iteration === step.iteration - 1 && previous.includes(handler);
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

/** The stored content that an output names. The output comes from an executor, so its parts may have any form. */
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

/** The sentence of the executor about the step; null if there is none. */
export const outputText = (output: Step['output']): string | null =>
  typeof output?.says === 'string' && output.says !== '' ? output.says : null;
