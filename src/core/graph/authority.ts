import { canonicalEdge } from './edge-name.js';
import { HUMAN_FOLDERS, type Methodology } from './methodology.js';

export interface Authority {
  readonly verdict: 'granted' | 'escalate' | 'reject' | 'warn';
  readonly reason: 'outside_role_authority' | 'spec_mutation' | null;
}

export interface AuthorityQuestion {
  readonly edge: string;
  readonly agent_role: string | null;
  /** What the result changes, from the project's root. */
  readonly files: readonly string[];
  readonly is_human: boolean;
}

const GRANTED: Authority = { verdict: 'granted', reason: null };

/** Who may say that an edge has converged. Humans always may; nobody else may change what the project is held to. */
export function authorityOf(m: Methodology, ask: AuthorityQuestion): Authority {
  if (ask.is_human) return GRANTED;
  const { roles, outside_authority_action, spec_mutation_requires_human } = m.roles;
  if (spec_mutation_requires_human && ask.files.some(needsHuman)) {
    return { verdict: 'escalate', reason: 'spec_mutation' };
  }
  const role = ask.agent_role !== null && Object.hasOwn(roles, ask.agent_role) ? roles[ask.agent_role] : null;
  const edges = role?.converge_edges ?? [];
  if (edges === 'all' || edges.includes(canonicalEdge(ask.edge))) return GRANTED;
  return { verdict: outside_authority_action, reason: 'outside_role_authority' };
}

/** Decisions lie in a folder of their own anywhere in a project, a specification at its root. */
const ANYWHERE: ReadonlySet<string> = new Set(['adrs', 'decisions']);

function needsHuman(file: string): boolean {
  const steps: string[] = [];
  for (const step of file
    .normalize('NFC')
    .toLowerCase()
    .split(/[/\\]+/)) {
    if (step === '' || step === '.') continue;
    // Out of the project, and nobody knows where to.
    if (step === '..' && steps.pop() === undefined) return true;
    if (step !== '..') steps.push(step);
  }
  return HUMAN_FOLDERS.some((folder) => folder === steps[0]) || steps.some((step) => ANYWHERE.has(step));
}
