import { type Standing, unconverged } from '../features/standing.js';
import type { Survey } from '../features/survey.js';
import type { Methodology } from './methodology.js';
import type { RouteQuestion, WorkspaceState } from './route.js';

/** The first of the eight that fits, always derived anew. */
export function workspaceState({ methodology }: RouteQuestion, survey: Survey): WorkspaceState {
  if (methodology === null) return 'UNINITIALISED';
  const active = [...survey.standings.values()].filter(({ complete }) => !complete);
  if (
    undecided(methodology).length > 0 &&
    active.some((standing) => needsConstraints(methodology, standing))
  ) {
    return 'NEEDS_CONSTRAINTS';
  }
  if (!methodology.has_intent) return 'NEEDS_INTENT';
  if (survey.standings.size === 0) return 'NO_FEATURES';
  const statuses = active.map(survey.statusOf);
  if (statuses.includes('stuck')) return 'STUCK';
  if (statuses.length > 0 && statuses.every((status) => WAITING.has(status))) return 'ALL_BLOCKED';
  return statuses.length > 0 ? 'IN_PROGRESS' : 'ALL_CONVERGED';
}

const WAITING: ReadonlySet<string> = new Set(['blocked', 'pending_review', 'time_box_expired']);

const CONSTRAINED_FROM = 'requirements_design';

/**
 * From the design on, a feature rests on the dimensions that a project must decide. It is where its work stands, and past
 * what has converged: who only claims an edge far ahead has not brought it there.
 */
function needsConstraints({ topology }: Methodology, standing: Standing): boolean {
  const order = topology.transitions.map(({ edge }) => edge);
  const from = order.indexOf(CONSTRAINED_FROM);
  if (from === -1) return false;
  const past = standing.steps.filter(({ status }) => status === 'converged');
  const at = unconverged(standing).slice(0, 1);
  return [...past, ...at].some(({ edge }) => order.indexOf(edge) >= from);
}

/** Mandatory dimensions of which the project has said nothing. */
export function undecided({ topology, constraints }: Methodology): string[] {
  return topology.constraint_dimensions
    .filter(({ name, mandatory }) => mandatory && !isDecided(constraints.constraint_dimensions, name))
    .map(({ name }) => name);
}

export function isDecided(dimensions: Readonly<Record<string, unknown>>, name: string): boolean {
  return Object.hasOwn(dimensions, name) && says(dimensions[name]);
}

/** A text, a number, or anything that holds one. */
function says(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  if (typeof value === 'string') return value.trim() !== '';
  return typeof value === 'object' ? Object.values(value).some(says) : true;
}
