import { sceneOf } from '../../coordinator/methodology/scene.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Policy, rulesFor } from '../../core/claims/policy.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { evolveMethodology } from '../../core/features/evolve.js';
import { emptyMethodology } from '../../core/features/feature-state.js';
import { statusView } from '../../core/features/status.js';
import { kindOf, POLICY_SUBJECT } from '../../core/subject.js';
import { emptyWork, evolveWork, foldProject } from '../../core/views/project-state.js';
import { projectStatus } from '../../core/views/status.js';
import type { Vantage } from '../../core/views/vantage.js';
import type { Calls } from './calls.js';

/**
 * The status of a project, straight from its events: the same folds and views that a coordinator has, without one.
 * This is asked more often than everything else together, and who asks waits for it.
 */
export function lookAt(events: readonly EventEnvelope[]) {
  const work = emptyWork();
  const state = emptyMethodology();
  for (const event of events) {
    evolveWork(work, event);
    evolveMethodology(state, event);
  }
  const vantage = vantageOf(
    events[0],
    work.records.get(POLICY_SUBJECT)?.value as Partial<Policy> | undefined,
  );
  const question = { ...sceneOf(work, state, vantage), asked: {} };
  const calls: Pick<Calls, 'status'> = { status: async () => statusView(question) };
  const plan = async () =>
    work.plan.subject_count === 0 ? null : projectStatus(foldProject(events), vantage);
  return { calls, plan, title: vantage.key.project_id };
}

function vantageOf(first: EventEnvelope | undefined, said: Partial<Policy> = {}): Vantage {
  const { tenant_id = '', project_id = '' } = first ?? {};
  const policy = { ...DEFAULT_POLICY, ...said };
  return {
    key: { tenant_id, project_id },
    now_ms: Date.now(),
    rulesOf: (subject) => rulesFor(kindOf(subject), policy, DEFAULT_LIMITS, 0),
  };
}
