import { useEffect, useState } from 'react';

/** Short changes of the tab do not interrupt the stream. */
const HIDDEN_MAX_MS = 10_000;

const isHidden = (): boolean => document.visibilityState === 'hidden';

/**
 * Whether the tab is hidden, and was so for a while or from the start. A browser opens six connections to a server at
 * most: hidden tabs must not hold theirs.
 */
export function useIsPaused(): boolean {
  const [isPaused, setPaused] = useState(isHidden);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onChange = () => {
      clearTimeout(timer);
      if (isHidden()) timer = setTimeout(() => setPaused(true), HIDDEN_MAX_MS);
      else setPaused(false);
    };
    document.addEventListener('visibilitychange', onChange);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onChange);
    };
  }, []);
  return isPaused;
}
