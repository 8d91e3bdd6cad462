import { rulesFor } from '../../core/claims/policy.js';
import { isoTime, msOf } from '../../core/events/envelope.js';
import { kindOf, POLICY_SUBJECT } from '../../core/subject.js';
import type { ProjectState, Vantage } from '../../core/views/index.js';
import { policyOf } from '../desk.js';
import type { Project } from '../project.js';

/** From where a project is looked at: now, and under the rules of now. */
export function vantage(project: Project): Vantage {
  const desk = project.desk();
  return { key: project.key, now_ms: desk.now_ms, rulesOf: (subject) => desk.rulesOf(subject) };
}

/** The past is seen at its own time and under its own policy; limits are the tenant's, and are those of today. */
export function vantageThen({ key, limits, skew_margin_ms }: Project, state: ProjectState): Vantage {
  const policy = policyOf(state.records.get(POLICY_SUBJECT) ?? null);
  return {
    key,
    now_ms: msOf(state.last_updated ?? isoTime(0)),
    rulesOf: (subject) => rulesFor(kindOf(subject), policy, limits, skew_margin_ms),
  };
}
