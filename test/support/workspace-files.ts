/**
 * A small project: features A and B, whose modules overlap because `billing` depends on `auth`, C, which shares no module,
 * and D, whose modules are unknown.
 */
export const FILES: Readonly<Record<string, string>> = {
  'graph/edges/design_code.yml': `
edge: "design→code"
checklist:
  - { name: compiles, type: deterministic, criterion: it compiles, required: true, command: make }
  - { name: reads_well, type: agent, criterion: it reads well, required: true }
convergence: { rule: all_required_checks_pass }
`,
  'graph/edges/intent_requirements.yml': `
edge: "intent→requirements"
checklist:
  - { name: complete, type: agent, criterion: nothing is missing, required: true }
  - { name: wanted, type: human, criterion: it is what we want, required: true }
convergence: { rule: all_required_checks_pass }
`,
  'graph/modules.yml': `
feature_module_map:
  REQ-F-A: [auth]
  REQ-F-B: [billing]
  REQ-F-C: [search]
dependency_dag:
  billing: [auth]
`,
  'features/active/REQ-F-A.yml': featureFile('REQ-F-A'),
  'features/active/REQ-F-B.yml': featureFile('REQ-F-B'),
  'features/active/REQ-F-C.yml': featureFile('REQ-F-C', 'poc'),
  'features/active/REQ-F-D.yml': featureFile('REQ-F-D'),
};

export function featureFile(feature: string, profile = 'standard'): string {
  return `feature: ${feature}\ntitle: the feature ${feature}\nprofile: ${profile}\nstatus: pending\ntrajectory: {}\n`;
}

export const coordinationConfig = (settings: { mode?: string; enforce?: boolean; claims?: object }): string =>
  JSON.stringify({
    coordination: { mode: settings.mode ?? 'multi' },
    parallelism: { enforce: settings.enforce ?? false },
    ...(settings.claims === undefined ? {} : { claims: settings.claims }),
  });

/** The evaluator report for `design_code`, by default for a good result. */
export function evaluatorReport(
  results: Readonly<Record<string, string>> = { compiles: 'pass', reads_well: 'pass' },
) {
  const details = Object.entries(results).map(([name, result]) => ({ name, result }));
  const count = (result: string) => details.filter((detail) => detail.result === result).length;
  const [passed, failed, skipped] = [count('pass'), count('fail'), count('skip')];
  return { evaluators: { passed, failed, skipped, total: details.length, details } };
}
