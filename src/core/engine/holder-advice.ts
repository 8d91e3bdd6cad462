import type { EffectiveCheck } from '../contract/checks.js';
import type { Explanation } from '../contract/tasks.js';
import { genCommand } from '../methodology/definition/command.js';
import { type LastRun, suspendedAdvice } from './suspended-advice.js';

/** What decides the next step of the session that holds an edge or a task. */
interface HeldWork {
  readonly subject: string;
  readonly generation: number;
  /** Null unless the claim is suspended. */
  readonly suspended: { readonly has_open_gate: boolean; readonly last_run: LastRun | null } | null;
  /** The effective checks of an edge; empty for a task. */
  readonly checks: readonly Pick<EffectiveCheck, 'name' | 'type' | 'required'>[];
  readonly evidence: Explanation['evidence'] | null;
}

/** What the holder can do next, with the command to run. */
export function holderAdvice(work: HeldWork): string {
  const { subject, suspended, evidence } = work;
  if (suspended !== null) return suspendedAdvice(subject, suspended.has_open_gate, suspended.last_run);
  const lostHandleAdvice = `If you have lost the handle of this claim: ${genCommand('task', 'claim', subject)} returns the same claim (over HTTP: claim with resume: true).`;
  const step =
    evidence?.policy === 'verified'
      ? verifiedStep(work, evidence)
      : `Submit it: ${genCommand('task', 'submit', subject)}. Or release it: ${genCommand('task', 'release', subject)}.`;
  return `${step} ${lostHandleAdvice}`;
}

function verifiedStep(
  { subject, generation, checks }: HeldWork,
  { candidate, outcomes, missing }: NonNullable<Explanation['evidence']>,
): string {
  const propose = genCommand('task', 'propose', subject);
  const submit = submitCandidateCommand(subject, checks);
  if (candidate?.generation !== generation) return `Propose your drafts: ${propose}.`;
  const isRequired = (name: string) => checks.some((check) => check.name === name && check.required);
  const missingRequired = missing.filter(({ name }) => isRequired(name));
  if (missingRequired.length === 0) return `Submit now: ${submit}.`;
  const isFailed = missingRequired.some(({ name }) => outcomes.some((outcome) => outcome.name === name));
  return isFailed
    ? `Correct your drafts and propose them again: ${propose}.`
    : `When all required checks have passed on a runner: ${submit}.`;
}

/**
 * The command that submits the proposed drafts. It reports agent checks only: the results of deterministic checks come from
 * runners, and what an agent reports about them does not count.
 */
export const submitCandidateCommand = (
  subject: string,
  checks: readonly Pick<EffectiveCheck, 'type'>[],
): string => {
  const report = checks.some(({ type }) => type === 'agent') ? ' --check NAME=pass …' : '';
  return `${genCommand('task', 'submit', subject, '--drafts')}${report}`;
};
