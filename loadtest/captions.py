"""What stands in words beside the figures and tables of a report: what to look for, and how it was measured. Captions are HTML."""

from __future__ import annotations

from typing import Final

OVER_TIME: Final = (
    "<b>Normal requests over time, and who disguised meanwhile.</b> One value a second; black lines are the mean throughput "
    "of a phase. Look whether the white and the tinted phases differ, and whether a long stroke below stands under a peak "
    "above. A second holds about {rate:,.0f} requests, so its p99 is close to its slowest one. Each stroke below lasts from "
    "the request's beginning to its end; those that go on at the same time lie under each other."
)
DISTRIBUTIONS: Final = (
    "<b>How long normal requests take, with and without disguisers.</b> Where the curves lie on each other nobody notices "
    "anything; to the right the same for the slowest tenth, with p95 and p99 as lines. Curves are drawn through some "
    "hundred of their points, their ends among them."
)
BY_PAGE: Final = (
    "<b>The same for each page</b>, the most frequent eight first. Look for a page whose curves part: it meets the "
    "disguisers in the database."
)
BY_ROWS: Final = (
    "<b>What disguisers wait for</b>: the one request that disguises, and the one that reveals, while everybody else uses "
    "the site. Where the numbers of rows differ, each request is a dot, all variants together, and black bars are medians "
    "of five or more; else each variant has its curve."
)
PROCESSORS: Final = (
    "<b>Who takes the processors, and who waits for rows.</b> Other programs took what stands between the colours and the "
    "black line. Were throughput lost to locks rather than to processors, the lower curves would rise in the tinted phases "
    "while processors are idle."
)
CROWD: Final = (
    "<b>What the number of disguisers does.</b> Left: latencies of normal requests, 0 being the baseline (grey, for "
    "WebSubmit: where the draft evaluation saw little effect). Middle: normal throughput lost, with its 95 % interval; if it "
    "stays below the CPU share that the disguisers use, they cost the others processors and nothing else. Right: what the "
    "disguisers themselves wait."
)
PUBLISHED: Final = (
    "<b>The published bars, redrawn as per cent of the throughput without disguisers, and ours beside them.</b> 100 would be "
    "no loss. Theirs: the research system on another machine, 927 (low) and 4,039 (high load) operations per second without "
    "disguisers. Ours: pages of a Django site, by the baselines next to each phase. The two have other requests, users and "
    "processors, so what can be compared is the shape: a random user against the heaviest, chunks against one transaction."
)
EDITS: Final = (
    "<b>Each edit of an answer is a dot.</b> In the draft evaluation of the research system 30 simultaneous disguisers caused "
    "spikes in pairs, one of the disguises and one of the reveals (dashed lines). Look how far the tinted phases rise above "
    "the white ones, and what the rate limit does to that."
)
ALL_VARIANTS: Final = (
    "<b>Every variant of every run.</b> Left: what part of the normal throughput was lost, with its 95 % interval; 0 is "
    "nothing. Grey squares: the share of the processors that looping disguisers used, which the loss must not exceed. "
    "Right: p99 of normal requests by the baseline's, where there were requests enough; 1 is no change. Dashed: the goals "
    "for one pair a second, 3 % and 1.2 ×."
)

HOW_JUDGED: Final = (
    "Reached: the estimate, and in brackets its 95 % interval. A goal that asks for a p99 is judged from 1,000 requests on "
    "each side, not from fewer. Where the interval crosses the limit, another run may say otherwise."
)
QUICK: Final = "A quick run, to see that everything works: too short and too small for any of its numbers to mean much."
NOT_ALONE: Final = (
    "{where}: other programs took up to {others:.2f} of the {processors} processors in a phase, so the load was not what it "
    "should be. Repeat this on a quiet machine."
)
METHOD: Final = (
    "Locust's users, the site, the database and the workers share one machine, and all of their processor time counts.",
    "Normal users wait for their page, think, and ask for the next: a site that becomes slower is asked less. Throughput is "
    "the normal requests that were completed in a phase, by its seconds; a latency belongs to the phase in which its request "
    "began. Requests that went wrong are in neither.",
    "Percentiles are of raw samples, by the nearest rank, and given only where ten samples lie beyond them: 20 for a p50, "
    "200 for a p95, 1,000 for a p99.",
    "Phases of the baseline (A) and of variants take turns. Each variant's phase is compared with the baselines before and "
    "after it; the tables show every such pair. What happens between two phases belongs to none.",
    "Intervals: 95 % of a bootstrap over pairs, and in each phase over blocks of three seconds, widened to the pairs' own "
    "least and greatest. With two or three pairs that is a rough measure, and it says nothing of other machines or other "
    "data.",
    "The CPU share of the disguisers: what a pair takes when they have the site for themselves, times the pairs per second "
    "(alone); and what a variant takes beyond the baseline's price of its normal requests (difference). Their browsers "
    "count, too.",
)
