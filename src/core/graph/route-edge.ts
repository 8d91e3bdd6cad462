import type { EdgeClaim } from '../features/feature-state.js';
import { counts, type Standing, type Step } from '../features/standing.js';
import { type Survey, stepObstacle } from '../features/survey.js';
import type { Route, RouteQuestion } from './route.js';

type Asked = RouteQuestion['asked'];
type Skipped = Route['skipped'][number];

/** A feature that can go on, and where. */
export interface Candidate {
  readonly standing: Standing;
  readonly step: Step;
}

export interface EdgeChoice {
  readonly candidate: Candidate | null;
  readonly skipped: readonly Skipped[];
}

/** The first edge of a feature's profile that its asker could claim now; what was passed over, and why. */
export function chooseEdge(survey: Survey, standing: Standing, asked: Asked): EdgeChoice {
  const feature = standing.row.vector.feature_id;
  const obstacle = survey.obstacleOf(standing);
  if (obstacle !== null && !(obstacle.kind === 'time_box' && asked.feature === feature)) {
    return { candidate: null, skipped: [{ feature, edge: null, says: obstacle.says }] };
  }
  const claimed = asked.feature === feature ? null : claimOfAnother(standing, asked);
  if (claimed !== null) return { candidate: null, skipped: [{ feature, ...claimed }] };
  const skipped: Skipped[] = [];
  for (const step of standing.steps) {
    if (!isInQuestion(step, asked)) continue;
    const says = whyNot(standing, step, asked);
    if (says === null) return { candidate: { standing, step }, skipped };
    skipped.push({ feature, edge: step.edge, says });
  }
  return { candidate: null, skipped };
}

/** An optional edge is offered to those who ask for it, and to nobody else before it has begun. */
function isInQuestion(step: Step, asked: Asked): boolean {
  if (asked.edge !== undefined) return step.edge === asked.edge;
  return counts(step) && step.status !== 'converged';
}

/** Two agents on one feature share all of its modules, so a feature at work is left to its holder. */
function claimOfAnother({ steps, row }: Standing, asked: Asked): Omit<Skipped, 'feature'> | null {
  for (const [edge, claim] of row.claims) {
    const converged = steps.some((step) => step.edge === edge && step.status === 'converged');
    if (!converged && isAnothers(claim, asked)) return { edge, says: saysHolder(claim) };
  }
  return null;
}

/** A claim that somebody else has open. One whose lease has run out may be taken over. */
export const isAnothers = ({ agent_id, state }: EdgeClaim, asked: Asked): boolean =>
  agent_id !== asked.agent_id && state !== 'lease_expired';

function saysHolder({ agent_id, state, since }: EdgeClaim): string {
  if (state === 'stale') return `${agent_id} holds it since ${since} and has not been heard of`;
  if (state === 'awaiting_human') return `${agent_id} holds it and waits for a human`;
  return `${agent_id} holds it since ${since}`;
}

function whyNot(standing: Standing, step: Step, asked: Asked): string | null {
  if (step.status === 'converged') return 'it has converged; an operator can reset it';
  const obstacle = stepObstacle(standing, step);
  if (obstacle !== null) return obstacle.says;
  if (step.claim !== null && isAnothers(step.claim, asked)) return saysHolder(step.claim);
  // Whoever names the feature knows that it is stuck and wants to try again.
  if (step.stuck && asked.feature === undefined) {
    return `it is stuck: delta ${step.state?.delta} again and again, and needs a human or another idea`;
  }
  return null;
}
