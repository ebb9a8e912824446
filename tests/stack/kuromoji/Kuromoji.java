package manga.stack;

import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.StopFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.ja.JapaneseAnalyzer;
import org.apache.lucene.analysis.ja.JapaneseBaseFormFilter;
import org.apache.lucene.analysis.ja.JapaneseIterationMarkCharFilter;
import org.apache.lucene.analysis.ja.JapaneseKatakanaStemFilter;
import org.apache.lucene.analysis.ja.JapaneseNumberFilter;
import org.apache.lucene.analysis.ja.JapanesePartOfSpeechStopFilter;
import org.apache.lucene.analysis.ja.JapaneseReadingFormFilter;
import org.apache.lucene.analysis.ja.JapaneseTokenizer;
import org.apache.lucene.analysis.ja.dict.UserDictionary;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.index.analysis.AbstractIndexAnalyzerProvider;
import org.opensearch.index.analysis.AbstractTokenizerFactory;
import org.opensearch.index.analysis.Analysis;
import org.opensearch.index.analysis.AnalyzerProvider;
import org.opensearch.index.analysis.CharFilterFactory;
import org.opensearch.index.analysis.NormalizingCharFilterFactory;
import org.opensearch.index.analysis.TokenFilterFactory;
import org.opensearch.index.analysis.TokenizerFactory;
import org.opensearch.index.IndexSettings;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.opensearch.plugins.AnalysisPlugin;
import org.opensearch.plugins.Plugin;

/**
 * Lucene's Japanese analysis under the names and settings that OpenSearch's own plugin, which is in no Maven repository,
 * gives it. For tests: an index definition that works on a managed domain works here, and the other way round.
 */
public final class Kuromoji extends Plugin implements AnalysisPlugin {

    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return Map.of("kuromoji_tokenizer", Words::new);
    }

    @Override
    public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
        return Map.of("kuromoji", Whole::new);
    }

    @Override
    public Map<String, AnalysisProvider<CharFilterFactory>> getCharFilters() {
        return Map.of("kuromoji_iteration_mark", (index, env, name, settings) -> {
            boolean kanji = settings.getAsBoolean("normalize_kanji", JapaneseIterationMarkCharFilter.NORMALIZE_KANJI_DEFAULT);
            boolean kana = settings.getAsBoolean("normalize_kana", JapaneseIterationMarkCharFilter.NORMALIZE_KANA_DEFAULT);
            return new Marks(name, kanji, kana);
        });
    }

    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of(
            "kuromoji_baseform", filter((env, settings) -> JapaneseBaseFormFilter::new),
            "kuromoji_number", filter((env, settings) -> JapaneseNumberFilter::new),
            "kuromoji_readingform", filter((env, settings) -> {
                boolean romaji = settings.getAsBoolean("use_romaji", false);
                return tokens -> new JapaneseReadingFormFilter(tokens, romaji);
            }),
            "kuromoji_stemmer", filter((env, settings) -> {
                int length = settings.getAsInt("minimum_length", JapaneseKatakanaStemFilter.DEFAULT_MINIMUM_LENGTH);
                return tokens -> new JapaneseKatakanaStemFilter(tokens, length);
            }),
            "kuromoji_part_of_speech", filter((env, settings) -> {
                List<String> given = words(env, settings, "stoptags_path", "stoptags");
                Set<String> tags = given == null ? JapaneseAnalyzer.getDefaultStopTags() : new HashSet<>(given);
                return tokens -> new JapanesePartOfSpeechStopFilter(tokens, tags);
            }),
            "ja_stop", filter((env, settings) -> {
                CharArraySet words = stopWords(env, settings);
                return tokens -> new StopFilter(tokens, words);
            })
        );
    }

    /** What a filter does, from its settings. */
    private interface Setup {
        UnaryOperator<TokenStream> from(Environment env, Settings settings);
    }

    private static AnalysisProvider<TokenFilterFactory> filter(Setup setup) {
        return (index, env, name, settings) -> new Filter(name, setup.from(env, settings));
    }

    private record Filter(String name, UnaryOperator<TokenStream> step) implements TokenFilterFactory {
        @Override
        public TokenStream create(TokenStream tokens) {
            return step.apply(tokens);
        }
    }

    private record Marks(String name, boolean kanji, boolean kana) implements NormalizingCharFilterFactory {
        @Override
        public Reader create(Reader text) {
            return new JapaneseIterationMarkCharFilter(text, kanji, kana);
        }
    }

    private static final class Words extends AbstractTokenizerFactory {
        private final JapaneseTokenizer.Mode mode;
        private final UserDictionary dictionary;
        private final boolean dropPunctuation;
        private final boolean dropCompounds;
        private final int cost;
        private final String examples;

        Words(IndexSettings index, Environment env, String name, Settings settings) {
            super(index, settings, name);
            mode = mode(settings);
            dictionary = dictionary(env, settings);
            dropPunctuation = settings.getAsBoolean("discard_punctuation", true);
            dropCompounds = settings.getAsBoolean("discard_compound_token", false);
            cost = settings.getAsInt("nbest_cost", -1);
            examples = settings.get("nbest_examples");
        }

        @Override
        public Tokenizer create() {
            JapaneseTokenizer tokenizer = new JapaneseTokenizer(dictionary, dropPunctuation, dropCompounds, mode);
            tokenizer.setNBestCost(examples == null ? cost : Math.max(cost, tokenizer.calcNBestCost(examples)));
            return tokenizer;
        }
    }

    private static final class Whole extends AbstractIndexAnalyzerProvider<JapaneseAnalyzer> {
        private final JapaneseAnalyzer analyzer;

        Whole(IndexSettings index, Environment env, String name, Settings settings) {
            super(index, name, settings);
            Set<String> tags = JapaneseAnalyzer.getDefaultStopTags();
            analyzer = new JapaneseAnalyzer(dictionary(env, settings), mode(settings), stopWords(env, settings), tags);
        }

        @Override
        public JapaneseAnalyzer get() {
            return analyzer;
        }
    }

    private static CharArraySet stopWords(Environment env, Settings settings) {
        CharArraySet usual = JapaneseAnalyzer.getDefaultStopSet();
        boolean anyCase = settings.getAsBoolean("ignore_case", false);
        return Analysis.parseWords(env, settings, "stopwords", usual, Map.of("_japanese_", usual), anyCase);
    }

    private static JapaneseTokenizer.Mode mode(Settings settings) {
        String name = settings.get("mode");
        for (JapaneseTokenizer.Mode mode : JapaneseTokenizer.Mode.values()) {
            if (mode.name().equalsIgnoreCase(name)) {
                return mode;
            }
        }
        return JapaneseTokenizer.DEFAULT_MODE;
    }

    private static UserDictionary dictionary(Environment env, Settings settings) {
        if (settings.get("user_dictionary") != null && settings.get("user_dictionary_rules") != null) {
            throw new IllegalArgumentException("give either [user_dictionary] or [user_dictionary_rules], not both");
        }
        try {
            List<String> rules = words(env, settings, "user_dictionary", "user_dictionary_rules");
            return rules == null || rules.isEmpty() ? null : UserDictionary.open(new StringReader(String.join("\n", rules)));
        } catch (IOException e) {
            throw new IllegalArgumentException("the user dictionary cannot be read", e);
        }
    }

    /** The lines of a file or of a list in the settings, less the comments; null when neither is given. */
    private static List<String> words(Environment env, Settings settings, String path, String list) {
        boolean given = settings.get(path) != null || settings.getAsList(list, null) != null;
        return given ? Analysis.parseWordList(env, settings, path, list, line -> line) : null;
    }
}
