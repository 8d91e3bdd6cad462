import {
  APPEND_REFUSALS,
  AUDIT_KEY_REFUSALS,
  adviceFor,
  CHECKPOINT_REFUSALS,
  CLAIM_REFUSALS,
  FOLD_BACK_REFUSALS,
  GATE_REFUSALS,
  OPERATOR_REFUSALS,
  PROBLEM_STATUS,
  RENEWAL_REFUSALS,
  type RefusalCode,
  refusalStatus,
  SESSION_REFUSALS,
  SPAWN_REFUSALS,
  SUBMISSION_REFUSALS,
  VERSION_RELEASE_REFUSALS,
} from '../src/core/contract/codes.js';
import { PROJECT_PATH } from '../src/core/contract/operation.js';
import { OPERATION_LIST } from '../src/core/contract/operations.js';

/** The tables of docs/http.md that the contract determines, by the name of their markers. */
export const SECTIONS: Readonly<Record<string, () => string>> = {
  operations: () =>
    table(
      ['call', 'description', 'permission'],
      OPERATION_LIST.map(({ method, path, summary, action }) => [
        `\`${method} ${path.replace(PROJECT_PATH, 'P')}\``,
        summary,
        action,
      ]),
    ),
  'claim-refusals': () => refusalTable('refused claim', CLAIM_REFUSALS),
  'result-refusals': () => refusalTable('refused result', SUBMISSION_REFUSALS),
  'other-refusals': () => {
    const listed = new Set<RefusalCode>([...CLAIM_REFUSALS, ...SUBMISSION_REFUSALS]);
    const others = [
      ...RENEWAL_REFUSALS,
      ...GATE_REFUSALS,
      ...OPERATOR_REFUSALS,
      ...APPEND_REFUSALS,
      ...SESSION_REFUSALS,
      ...SPAWN_REFUSALS,
      ...FOLD_BACK_REFUSALS,
      ...CHECKPOINT_REFUSALS,
      ...VERSION_RELEASE_REFUSALS,
      ...AUDIT_KEY_REFUSALS,
    ];
    return refusalTable(
      'other refusal',
      [...new Set(others)].filter((code) => !listed.has(code)),
    );
  },
  problems: () => {
    const problems = Object.entries(PROBLEM_STATUS);
    const codesOf = (status: number) =>
      problems.flatMap(([code, codeStatus]) => (codeStatus === status ? `\`${code}\`` : [])).join(', ');
    const statuses = [...new Set(problems.map(([, status]) => status))];
    return table(
      ['status', 'problem codes'],
      statuses.map((status) => [String(status), codesOf(status)]),
    );
  },
};

const refusalTable = (title: string, codes: readonly RefusalCode[]): string =>
  table(
    [title, 'status', '`next`'],
    codes.map((code) => [`\`${code}\``, String(refusalStatus(code)), adviceFor(code)]),
  );

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((_, index) =>
    Math.max(...[titles, ...rows].map((row) => row[index]?.length ?? 0)),
  );
  const line = (cells: readonly string[], fill = ' ') =>
    `| ${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0, fill)).join(' | ')} |`;
  const rule = line(
    titles.map(() => ''),
    '-',
  );
  return [line(titles), rule, ...rows.map((row) => line(row))].join('\n');
}

/** Replaces the text between each pair of markers by its section. */
export function withSections(text: string, sections = SECTIONS): string {
  return Object.entries(sections).reduce((current, [name, render]) => {
    const [start, end] = [`<!-- generated: ${name} -->\n`, '<!-- end -->'];
    const from = current.indexOf(start);
    const to = current.indexOf(end, from);
    if (from < 0 || to < 0)
      throw new Error(
        `The markers of ${name} are missing. Add <!-- generated: ${name} --> and <!-- end --> to docs/http.md.`,
      );
    return `${current.slice(0, from + start.length)}\n${render()}\n\n${current.slice(to)}`;
  }, text);
}
