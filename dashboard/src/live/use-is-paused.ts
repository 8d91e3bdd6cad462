import { useEffect, useState } from 'react';

/** Switching to another tab for a shorter time does not interrupt the stream. */
const HIDDEN_MAX_MS = 10_000;

const isHidden = (): boolean => document.visibilityState === 'hidden';

/**
 * Whether the tab has been hidden for a while or from the start. A browser opens at most six connections to a server, so
 * a hidden tab gives up its connection.
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
