import { rulesFor } from '../../core/claims/policy.js';
import { isoTime, msOf } from '../../core/events/envelope.js';
import { POLICY_SUBJECT, subjectKindOf } from '../../core/subject.js';
import type { FoldContext, ProjectState } from '../../core/views/index.js';
import { policyFromRecord } from '../queue/decision-view.js';
import type { Project } from '../queue/project.js';

/** Fold context of the present: current time and rules. */
export function foldContext(project: Project): FoldContext {
  const view = project.view();
  return { key: project.key, now_ms: view.now_ms, rulesOf: (subject) => view.rulesOf(subject) };
}

/** Fold context of the past: the time and policy of then, but today's tenant limits. */
export function foldContextAt({ key, limits, skew_margin_ms }: Project, state: ProjectState): FoldContext {
  const policy = policyFromRecord(state.records.get(POLICY_SUBJECT) ?? null);
  return {
    key,
    now_ms: msOf(state.last_updated ?? isoTime(0)),
    rulesOf: (subject) => rulesFor(subjectKindOf(subject), policy, limits, skew_margin_ms),
  };
}
