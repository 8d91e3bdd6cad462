import { expect, test } from 'vitest';
import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { inputSteps, storedParts } from './step-data.js';

type Step = RunDetails['steps'][number];
const step = (name: string, iteration = 1) => ({ step: name, iteration, status: 'COMPLETED' }) as Step;
const SHA = 'a'.repeat(64);

test('a step reads what was loaded, what its iteration made, and the findings of the previous iteration', () => {
  const steps = [
    ...[step('load_config'), step('load_context'), step('construct_candidate'), step('run_check a')],
    ...[step('judge_iteration'), step('construct_candidate', 2), step('run_check a', 2)],
  ];
  const inputNames = (of: Step) => inputSteps({ steps }, of).map((one) => `${one.step} ${one.iteration}`);
  expect(inputNames(step('load_config'))).toEqual([]);
  expect(inputNames(step('construct_candidate', 2))).toEqual([
    'load_config 1',
    'load_context 1',
    'construct_candidate 1',
    'judge_iteration 1',
  ]);
  expect(inputNames(step('run_check a', 2))).toEqual([
    'load_config 1',
    'load_context 1',
    'construct_candidate 2',
  ]);
  expect(inputNames(step('judge_iteration', 2)).at(-1)).toBe('run_check a 2');
});

test('an output names stored content by digest or reference', () => {
  const manifest = { bucket: '', key: SHA, version: SHA };
  expect(storedParts({ manifest, output_sha256: SHA, files: 1, report: null, prompt_sha256: SHA })).toEqual([
    { title: 'Files', sha256: SHA },
    { title: 'Log of the check', sha256: SHA },
    { title: 'Prompt', sha256: SHA },
  ]);
  expect(storedParts({ manifest: { bucket: 'elsewhere', version: SHA }, output_sha256: 'none' })).toEqual([]);
});
