import { useState } from 'react';

const PREFIX = 'genesis-draft:';

/** Whether a text was begun and not sent. */
export const hasUnsentText = (key: string): boolean => (sessionStorage.getItem(PREFIX + key) ?? '') !== '';

export const removeUnsentText = (key: string): void => sessionStorage.removeItem(PREFIX + key);

/** A text that a person types. It survives a refresh of the data and a reload of the page, until it is sent. */
export function useUnsentText(key: string): readonly [text: string, change: (text: string) => void] {
  const [stored, setStored] = useState({ key, text: sessionStorage.getItem(PREFIX + key) ?? '' });
  const text = stored.key === key ? stored.text : (sessionStorage.getItem(PREFIX + key) ?? '');
  const changeText = (changed: string) => {
    if (changed === '') sessionStorage.removeItem(PREFIX + key);
    else sessionStorage.setItem(PREFIX + key, changed);
    setStored({ key, text: changed });
  };
  return [text, changeText];
}
