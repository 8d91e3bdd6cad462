import { describe, expect, it } from 'vitest';
import { readYamlText } from './read-yaml.js';
import { findYamlLimitFault } from './yaml-limits.js';

const HOSTILE: Record<string, [string, string]> = {
  'a megabyte of open brackets': ['['.repeat(1_000_000), 'nested too deeply'],
  'a megabyte of open braces': ['{a: '.repeat(250_000), 'nested too deeply'],
  'a million list marks': ['- '.repeat(1_000_000), 'nested too deeply'],
  'a million question marks': ['? '.repeat(1_000_000), 'nested too deeply'],
  'a megabyte of unmatched closing brackets': [']'.repeat(1_000_000), 'Unmatched closing brackets'],
  'a hundred thousand directives': ['%x\n'.repeat(100_000), 'Directives are not supported'],
  'a hundred thousand aliases': [`a: &a x\n${'- *a\n'.repeat(100_000)}`, 'Anchors and aliases'],
};

describe('hostile YAML', () => {
  it.each(Object.entries(HOSTILE))('is refused before parsing: %s', (_, [text, says]) => {
    const { value, faults } = readYamlText(text, 'one');
    expect(value).toBeUndefined();
    expect(faults[0]?.message).toContain(says);
    expect(faults[0]?.source_position.line).toBeGreaterThan(0);
  });
});

it('accepts a plan whose texts contain YAML syntax characters', () => {
  const text = `tracks:
  A:
    - { id: A-001-a, description: "[[[[ & * % ? -", modules: [a, b] }
    - id: A-002-b
      description: |
        ${'- '.repeat(50)}
        ${']'.repeat(50)}
`;
  expect(findYamlLimitFault(text)).toBeNull();
});
